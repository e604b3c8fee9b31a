"""What is a secret is masked wherever it stands, and what only looks like one stays.

The secrets here are made up, and put together at run time, so that no scanner takes this file for a leak.
"""

from base64 import b64encode
from pathlib import Path
from textwrap import wrap

import orjson
import pytest

from manifests.sessions import import_sessions
from manifests.sessions.secrets import PATTERNS, Masker
from manifests.store import Store
from tests.manifests.session_files import ClaudeSession

RANDOM = "aZ3bY7cX1dW9eV5fU2gT8hS4iR6jQ0kP"
UPPER = "QWERTYUIOPASDFGH"
LINE = RANDOM * 2
DASHES = "-" * 5


def pem(kind: str = "RSA PRIVATE KEY", feed: str = "\n") -> str:
    """A private key block."""
    return feed.join([f"{DASHES}BEGIN {kind}{DASHES}", LINE, LINE, f"{DASHES}END {kind}{DASHES}"])


def encoded(kind: str, width: int = 1000) -> str:
    """A private key block in base64, as Kubernetes keeps it."""
    return "\n".join(wrap(b64encode(pem(kind).encode()).decode(), width))


SECRETS = [
    ("private key", pem()),
    ("private key", pem("PRIVATE KEY", "\\n")),
    ("private key", pem("OPENSSH PRIVATE KEY", "\n  ")),
    ("private key", pem("PGP PRIVATE KEY BLOCK", "\n+")),
    ("private key", f"AGE-SECRET-KEY-1{UPPER * 4}"[:74]),
    ("anthropic key", f"sk-ant-api03-{LINE}"),
    ("openai key", f"sk-proj-{LINE}"),
    ("openai key", f"sk-{RANDOM}"),
    ("stripe key", f"sk_live_{RANDOM}"),
    ("stripe key", f"rk_test_{RANDOM}"),
    ("stripe key", f"whsec_{RANDOM}"),
    ("github token", f"ghp_{RANDOM}abcd"),
    ("github token", f"github_pat_{RANDOM}"),
    ("gitlab token", f"glpat-{RANDOM[:20]}"),
    ("slack token", f"xoxb-1234567890-{RANDOM}"),
    ("slack token", f"xapp-1-A123-{RANDOM}"),
    ("hugging face token", f"hf_{RANDOM}"),
    ("npm token", f"npm_{RANDOM}abcd"),
    ("pypi token", f"pypi-AgEIcHlwaS5vcmc{LINE}"),
    ("aws key", f"AKIA{UPPER}"),
    ("aws key", f"ASIA{UPPER}"),
    ("google key", f"AIza{RANDOM}abc"),
    ("google key", f"ya29.{RANDOM}"),
    ("google key", f"GOCSPX-{RANDOM}"),
    ("json web token", f"eyJ{RANDOM}.eyJ{RANDOM}.{RANDOM}"),
    ("service token", f"SG.{RANDOM[:22]}.{LINE[:43]}"),
    ("private key", encoded("PRIVATE KEY")),
    ("private key", encoded("RSA PRIVATE KEY")),
    ("private key", encoded("EC PRIVATE KEY")),
    ("private key", encoded("OPENSSH PRIVATE KEY")),
    ("private key", encoded("ENCRYPTED PRIVATE KEY", width=76)),
]

# (kind, what stands before the secret, the secret, what stands after it)
SECRETS_IN_PLACE = [
    ("password", "HOME=/root\nPOSTGRES_PASSWORD=", "Xk9mQ2vL)7pTz", "\nLANG=C"),
    ("password", "HOME=/root\nPOSTGRES_PASSWORD=", "Xk9mQ2vL,7pTz", "\nLANG=C"),
    ("password", "POSTGRES_PASSWORD=", "Xk9|mQ2vL7pTz", "\n"),
    ("password", "POSTGRES_PASSWORD=", "Xk<9mQ2vL7pTz", ""),
    ("password", "export DB_PASSWORD=", "abc;TAIL1def", "\\nLANG=C"),
    ("password", "DB_PASSWORD=", "&&aB3(&(x", "\n"),
    ("secret", "LANG=C\nAPI_TOKEN=", "abcdefgh&TAIL9ijk", "\n"),
    ("secret", "   12→STRIPE_SECRET=", "ab[c;d;ef", "\n"),
    ("password", "PGPASSWORD=", "Tr0ub4dor&3gN8Z", " psql"),
    ("password", "/login?password=", "Tr0ub4dor3", "&user=ada"),
    ("password", "export PASS=", "s3cr3t&more", "\n"),
    ("password", "MYSQL_PASS='", "opensesame1", "' make"),
    ("password", "Your password is ", "Tr0ub4dor&3", " from now on"),
    ("password", "the passphrase was '", "horse-battery-9", "'"),
    ("password", "sshpass -p ", "swordfish", " ssh ada@db"),
    ("password", "sshpass -p'", "swordfish", "' ssh ada@db"),
    ("password", "docker login -u ada -p ", "swordfish", " registry.example"),
    ("password", "podman login --username ada -p=", "swordfish", " registry.example"),
    ("password", "mysql -h db -u root -p", "swordfish", " shop"),
    ("password", "mysqldump -p'", "swordfish", "' shop"),
    ("password", "htpasswd -b /etc/users ada ", "swordfish", "\n"),
    ("password", "htpasswd -c -nbB users ada ", "swordfish", "\n"),
    ("password", "az login --service-principal -u app -p ", "aB3~dE5fG7hI9", " --tenant x"),
    ("password", "az login \\\n  --service-principal -u app \\\n  -p ", "swordfish", " \\\n  --tenant x"),
    ("password", r"docker login \\\n  -u ada  -p ", "swordfish", r" \\\n registry.example"),
    ("password", "mysqldump -h db \\\n  -u root -p", "swordfish", " shop"),
    ("password", r"az login -u SHOP\\ada -p ", "swordfish", ""),
    ("password", "echo ", "swordfish", " | sudo -S make install"),
    ("password", "echo -n '", "swordfish", "' | sudo -k -S make install"),
    ("password", r"printf '", "swordfish", r"\n' | docker login -u ada --password-stdin registry.example"),
    ("password", "echo ", "aB3dE5fG7hI9", " | gh auth login --with-token"),
    ("password", "docker login -u ada --password-stdin <<< ", "swordfish", "\n"),
    ("password", "sudo -S make install <<< '", "swordfish", "'"),
    ("password", "az acr login -n shop -u ada -p '", "swordfish", "'"),
    ("password", "helm registry login -u ada -p ", "swordfish", " registry.example"),
    ("password", "mongodump --host db -u ada -p ", "swordfish", " --db shop"),
    ("private key", "client-key-data: ", f"{LINE * 3}==", "\n"),
    ("private key", r"{\"client-key-data\": \"", LINE, r"\"}"),
    ("private key", "Private-Lines: 2\r\n", f"{LINE}\r\n{LINE[:40]}", "\r\nPrivate-MAC: x"),
    ("telegram token", "https://api.telegram.org/bot123456789:", f"AA{RANDOM}a", "/getMe"),
    ("telegram token", "bot 1234567890:", f"AA{RANDOM}_", "\n"),
    ("terraform token", "token zY8xW7vU6tS5rQ.atlasv1.", f"{RANDOM}-{RANDOM[:29]}x", "\n"),
    ("discord webhook", "https://discord.com/api/webhooks/", f"123456789012345678/{LINE}abcd", " x"),
    ("authorization header", "Authorization: Bearer ", f"opaque.{RANDOM}.{RANDOM[:22]}", "'"),
    ("authorization header", "Authorization: token ", "v2.3f9a0c7e5b2d18466a9f0e1c7d3b5a28", "\n"),
    ("authorization header", "bearer ", f"acme.pt.{RANDOM}", ","),
    ("secret", '"apiKey": "', f"acme.{RANDOM}", '"'),
    ("secret", "api_key: ", f"acme.{RANDOM}", "\n"),
    ("slack webhook", "https://hooks.slack.com/", f"services/T0/B0/{RANDOM}", " "),
    ("azure key", "AccountName=a;AccountKey=", f"{LINE}{RANDOM[:22]}==", ";"),
    ("azure key", "Endpoint=sb://x/;SharedAccessKey=", f"{RANDOM}{RANDOM[:11]}=", ""),
    ("azure key", "?sv=2022-11-02&sig=", f"{RANDOM}%2B{RANDOM[:8]}%3D", "&se=2027"),
    ("azure key", "secret abc8", f"Q~{RANDOM}", " x"),
    ("url password", "postgres://ada:", "correcthorse", "@db/shop"),
    ("url password", "https://x-access-token:", RANDOM, "@github.com/a/b"),
    ("authorization header", "Authorization: Bearer ", RANDOM, "\n"),
    ("authorization header", "-H 'authorization: Basic ", "YWRhOmNvcnJlY3Rob3JzZTEyMw==", "'"),
    ("authorization header", r"{\"Authorization\": \"token ", RANDOM, r"\"}"),
    ("authorization header", "bearer ", RANDOM, ","),
    ("cookie", "Set-Cookie: ", f"sid={RANDOM}; Path=/", "\n"),
    ("password", "password=", "hunter2", "&user=ada"),
    ("password", '"password": "', "correct Horse, 1", '"'),
    ("password", r"\"DB_PASSWORD\": \"", "tr0ub4dor", r"\","),
    ("password", "PGPASSWORD='", "tr0ub4dor&3", "' psql"),
    ("password", "mysql --password ", "tr0ub4dor", " shop"),
    ("password", "machine x login ada password ", "tr0ub4dor", "\n"),
    ("password", "curl -u ada:", "tr0ub4dor", " https://x"),
    ("secret", "API_KEY=", RANDOM, "\n"),
    ("secret", "aws_secret_access_key = ", f"{RANDOM}/{RANDOM[:7]}", "\n"),
    ("secret", '"clientSecret": "', RANDOM, '"'),
    ("secret", r"{\"apiKey\": \"", RANDOM, r"\"}"),
    ("secret", "token: ", "3f2a9c61d04b7e85", "\n"),
    ("secret", "x-api-key: ", RANDOM, "\n"),
    ("secret", "deploy --token ", RANDOM, " now"),
    ("secret", '"auth": "', "YWRhOmNvcnJlY3Rob3JzZTEyMw==", '"'),
    ("secret", "token: /login?token=", RANDOM, "\n"),
]

NEAR_MISSES = [
    f"{DASHES}BEGIN PUBLIC KEY{DASHES}\n{LINE}\n{DASHES}END PUBLIC KEY{DASHES}",
    f"{DASHES}BEGIN CERTIFICATE{DASHES}\n{LINE}\n{DASHES}END CERTIFICATE{DASHES}",
    "sk-learn and task-force-2026-of-the-long-name",
    "sk-ant-short",
    "sk_live_ is the prefix",
    "ghp_ tokens begin so, through_the_night_and_on_to_the_very_last_day",
    "glpat- or glglobal-abcdefghijklmnopqrst",
    "xoxb-your-token-goes-here",
    "hf_hub_download_of_a_model",
    "npm_config_registry=https://registry.example/",
    "pypi-publish",
    f"AKIA{UPPER}Z",
    "akiaabcdefghijklmnop",
    f"AIza{RANDOM}abcdef",
    "eyJub3QifQ.and.words",
    "http://localhost:3000/@ada/x",
    "git@github.com:ada/shop.git",
    "https://ada:$PASSWORD@db and https://ada:<password>@db and https://ada:password@db",
    'Authorization: Bearer $TOKEN, Bearer <token>, "Bearer {token}"',
    "bearer authentication is used",
    "Cookie: yes; cookies are fine",
    "password: string, password: required, password=********, password: your_password",
    "PASSWORD=$DB_PASSWORD1 and ${PASS1} and {{ password1 }} and %(password1)s",
    "password = get_password2() or config.db2.password or passwords[10]",
    "PWD=/home/ada2/shop and OLDPWD=~/x2",
    "The password must have 12 characters",
    "max_tokens=4096, input_tokens: 120000, token_count = 9000",
    "token: string; secret: deploy-bot-2; next token: 2 of 10",
    "api_key = os.environ['KEY_1'] and token = parse_token_2(text)",
    "monkey=abc123def456ghi7 and primary_key: abc123def456ghi7 and keyboard: us-101",
    "SECRET_KEY=get_secret(name)\nAPI_TOKEN=tokens[3];\nDB_PASSWORD=$(cat<file)\nTOKEN=<token>",
    "docker run -u 1000:1000 image",
    "docker run -p 8080:80 image && docker login -u ada --password-stdin",
    "mysql -h db -P 3306 -u root -p shop; mysql -p$PASSWORD1 shop; mysql --port=3306",
    "sshpass -p $PASS1 ssh db; sshpass -e ssh -p 2222 db; htpasswd -c users ada",
    "the password is required, the password was changed, COMPASS=north2east, PASS=$PASS1",
    "commit 3f2a9c61d04b7e853f2a9c61d04b7e853f2a9c61",
    f"client-certificate-data: {b64encode(f'{DASHES}BEGIN CERTIFICATE{DASHES} {LINE}'.encode()).decode()}",
    "client-key-data: DATA+OMITTED and client-key-data: REDACTED",
    "az login --use-device-code; az vm list -p x; mongosh -u ada -p --host db; docker run mongo -p 27017:1",
    "echo $PASS1 | sudo -S make; echo done | sudo tee /x -a; echo a | grep --with-tokens; sudo -S make < pw",
    "https://api.telegram.org/bot<token>/getMe and bot123456789:TOKEN",
    "Authorization: Bearer config.oauth2.clientSecretV2 and bearer settings.apiTokenOfTheUser2",
    "Authorization: Bearer com.example.shop.LoginServiceV2Impl",
    "[masked: github token] and password=[masked: password]",
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS, ids=lambda value: value[:20])
@pytest.mark.parametrize(
    ("before", "after"), [("a ", " z"), ("", ""), ('x="', '"'), ("\\n", "\\n"), ("(", ")")]
)
def test_a_secret_is_masked_wherever_it_stands(kind: str, secret: str, before: str, after: str) -> None:
    masker = Masker()
    assert masker.mask(f"{before}{secret}{after}") == f"{before}[masked: {kind}]{after}"
    assert masker.masked == {kind: 1}


@pytest.mark.parametrize(
    ("kind", "before", "secret", "after"), SECRETS_IN_PLACE, ids=lambda value: value[:20]
)
def test_a_secret_known_by_what_stands_before_it_is_masked(
    kind: str, before: str, secret: str, after: str
) -> None:
    masker = Masker()
    assert masker.mask(f"{before}{secret}{after}") == f"{before}[masked: {kind}]{after}"
    assert masker.masked == {kind: 1}


@pytest.mark.parametrize("text", NEAR_MISSES, ids=lambda value: value[:20])
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    masker = Masker()
    assert masker.mask(text) == text
    assert not masker.masked


def test_every_pattern_is_tried_here() -> None:
    tried = {kind for kind, _ in SECRETS} | {kind for kind, *_ in SECRETS_IN_PLACE}
    assert tried == {pattern.kind for pattern in PATTERNS}


def test_a_private_key_that_was_cut_off_is_masked_as_far_as_it_goes() -> None:
    cut = pem().rsplit("\n", 1)[0]
    assert Masker().mask(f"{cut}\nthe rest was lost") == "[masked: private key]\nthe rest was lost"


def test_what_stands_between_two_keys_stays() -> None:
    assert Masker().mask(f"{pem()}\nand\n{pem()}") == "[masked: private key]\nand\n[masked: private key]"


def test_letters_that_grow_in_lower_case_do_not_shift_the_mask() -> None:
    assert Masker().mask(f"İİİ ghp_{RANDOM}abcd İ") == "İİİ [masked: github token] İ"


def test_no_text_of_a_session_keeps_its_secrets(tmp_path: Path) -> None:
    secret = f"ghp_{RANDOM}abcd"
    session = ClaudeSession(folder=f"/home/ada/{secret}")
    session.user(f"Clone with {secret}")
    session.thinks(f"I use {secret}")
    session.calls("Bash", command=f"GH={secret} git clone x")
    session.gets(f"\x1b[31mghp_\x1b[0m{RANDOM}abcd is no good\n{pem()}")
    session.says(f"{secret} has expired")
    session.remark("custom-title", customTitle=secret)
    store = Store.open(tmp_path / "store")
    report = import_sessions(session.write(tmp_path), store, "claude-code")
    kept = b"".join(path.read_bytes() for path in store.root.rglob("*") if path.is_file())
    assert RANDOM.encode() not in kept
    assert secret not in orjson.dumps(report.slugs).decode()
    assert set(report.masked) == {"github token", "private key"}
    assert report.masked["private key"] == 1
