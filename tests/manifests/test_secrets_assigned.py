"""A literal given to the name of a secret is masked however plain it is; program text and prose stay."""

import pytest

from manifests.sessions.secrets import Masker

# (what stands before the secret, the secret, what stands after it)
ASSIGNED = [
    # the environment and shells
    ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzzzzz", ""),
    ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMIK7MDENGxbPxRfiCYzKqAaBxdEFgh", "\n"),
    ("SECRET_KEY_BASE=", "3f9a0c7e5b2d18466a9f0e1c7d3b5a28", ""),
    ("DB_PASSWORD=", "correcthorsebattery", "\n"),
    ("PGPASSWORD=", "swordfish", " psql -h db shop"),
    ("export STRIPE_KEY=", "abcdefghij", "\n"),
    ("export API_TOKEN='", "abcdefgh", "'"),
    ("  12→export GITHUB_TOKEN=", "abcdefgh", "\n"),
    ("docker run -e MYSQL_ROOT_PASSWORD=", "opensesame", " mysql"),
    ("TOKEN_PROD=", "swordfish", "\\nPORT=80"),
    ("MYSQL_PWD=", "swordfish", " mysqldump"),
    ("DB_PASSWORD=", "correct.horse", "\n"),
    ("ADMIN_PASSWORD=", "12345678", "\n"),
    ("STRIPE_KEY: ", "swordfish", "\n"),
    ("+SIGNING_KEY=", "abcdefabcdef", "\n"),
    # options
    ("mysql --password ", "swordfish", " shop"),
    ("mysql --password=", "swordfish", " shop"),
    ("deploy --api-key ", "abcdefgh", ""),
    ("deploy --auth-token '", "abcdefgh", "' --now"),
    ("deploy -token ", "abcdefgh", " --now"),
    # YAML, ini, properties
    ("password: ", "hunter", ""),
    ("db:\n  user: ada\n  password: ", "hunter", "\n  port: 5432"),
    ("  db_password: ", "swordfish", "   # of staging"),
    ("secret: ", "deploy-bot-2", "\n"),
    ("- token: ", "swordfish", "\n"),
    ("the password: ", "swordfish", "\nand that is all"),
    ("[client]\npassword = ", "swordfish", "\n"),
    ("aws_secret_access_key = ", "wJalrXUtnFEMIK7MDENGxbPxRfiCYzKqAaBxdEFgh", "\n"),
    ("password    = ", "swordfish", "\n"),
    ("spring.datasource.password=", "swordfish", "\n"),
    ("Server=db;User=ada;Password=", "swordfish", ";Port=1"),
    ("host=db user=ada password=", "swordfish", " dbname=shop"),
    ("/login?user=ada&password=", "swordfish", "&next=1"),
    # JSON and programs
    ('{"password": "', "hunter", '"}'),
    ('{"password":"', "swordfish", '","user":"ada"}'),
    (r"{\"client_secret\": \"", "swordfish", r"\"}"),
    ('"privateKey": "', "abcdefgh", '",'),
    ("login(user='ada', password='", "swordfish", "')"),
    ("SECRET_KEY = b'", "swordfish", "'"),
    ('password: str = "', "swordfish", '"'),
    ("const apiToken: string = '", "swordfish", "';"),
    ("os.environ['DB_PASSWORD'] = '", "swordfish", "'"),
    ('password := "', "swordfish", '"'),
    ("'passphrase' => '", "correct horse battery", "',"),
    ("let accessToken = `", "swordfish", "`;"),
    # after a colon that is not the operator: npm, PowerShell, Ruby, C++, XML
    ("//registry.npmjs.org/:_authToken=", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5", "\n"),
    ("//npm.example/api/:_auth=", "YWRhOnN3b3JkZmlzaDEyMw==", "\n"),
    ("//npm.example/api/:_password=", "c3dvcmRmaXNo", "\n"),
    ('$env:API_KEY = "', "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW", '"'),
    ("$env:DB_PASSWORD='", "swordfish", "'; ./deploy.ps1"),
    ("config[:password] = '", "swordfish", "'"),
    ("production:\n  :password: ", "swordfish", "\n  :host: db"),
    (":api_key => '", "swordfish", "',"),
    ('Shop::apiToken = "', "swordfish", '";'),
    ('<bean p:password="', "swordfish", '"/>'),
    ("CREATE USER ada IDENTIFIED BY '", "swordfish", "';"),
    ("ALTER ROLE ada WITH PASSWORD '", "swordfish", "';"),
]

READABLE = [
    # Python
    "def login(user: str, password: str, token: Optional[str] = None) -> None:",
    "token = get_token()\nsecret = secrets.token_hex(16)\npassword = getpass('Password: ')  # ask",
    "max_tokens=4096, key=lambda x: x.name, primary_key=True, tokens: 1234, eos_token=151643",
    "client = Client(token=token_from_env, password=given, api_key=loaded)",
    "    self.token = provided\n    token = current_value\n    password = entered",
    "self.token=whatever\n",
    "api_key = os.environ.get('API_KEY') or settings.API_KEY",
    "password: SecretStr\n    credentials: Credentials\n    secret: bytearray | None",
    "token = tokens[index] if tokens else None; next_token = following",
    'raise ValueError("password: must be longer") from error',
    'parser.add_argument("--password", help="password: the one of the database")',
    'f"token={token}, password={self.password!r}" and "password=%s" % password',
    "bos_token='<|begin|>', mask_token='[MASK]', pad_token: '[PAD]'",
    'if token == "identifier" or token != "keyword":',
    "token_type='bearer-token', password_field='user-input', SECRET_NAME=production-db",
    "cache_key = 'user:profile:17'; sort_key='created_at'; PARTITION_KEY=customer; foreign_key='orders.id'",
    "STATS_KEY = 'of_the_statistics'; _token = rf'[a-z]+|{name}'; color = {Token: '#ddd0c0'}",
    # JavaScript and TypeScript
    "fetch(url, { credentials: 'same-origin', withCredentials: allowed, showPassword: toggled })",
    "const token = await getToken(); let secret = process.env.JWT_SECRET;",
    "interface Login { password: string; token?: string; apiKey: ApiKey; secret: Uint8Array }",
    "return { token: accessToken, password: userInput, secret: derived };",
    'errors = { password: "Password is required", token: "The token has expired." }',
    "password: z.string().min(8), secret: Joi.string(), apiKey: config.keys.apiKey,",
    "<input type='password' name='password' token={current} />",
    "const key = event.key; const token = parser->token; let secret = Vault::secret;",
    '<Login :token="current" :password="entered2" v-bind:api-key="keys.of[0]" x-bind:secret="derived" />',
    '<Login\\n:token="entered2"',
    ":token: what stands for the user\n:password: Password of the user\n:secret: derived",
    # Ruby, XML
    "where(token: params[:token]); params[:password] = entered; post :token => given, :secret => derived",
    '<EditText app:passwordToggleEnabled="true" android:key="user_2" />',
    # YAML and JSON
    "password: ${{ secrets.DB_PASSWORD }}\ntoken: $GITHUB_TOKEN\nsecret: !vault |",
    "env:\n  secretName: shop-tls\n  secretKeyRef:\n    name: credentials\n    key: password",
    "secret: db-credentials\n  passwordSecret: shop-db-password",
    "credentials:\n  enabled: yes\n  secret:\n    storage: default",
    '{"password": {"type": "string", "format": "password"}, "token": "string"}',
    "password: changeme\nsecret: change-me-please\ntoken: your-token-here\napi_key: xxxxxxxxxxxx",
    "password: ********\ntoken: <your token>\nsecret: /run/secrets/db\ntoken: op://vault/shop/token",
    "'password' => 'required|string|min:8'",
    '"login.password": "auth.password", "token": "Enter your token"',
    # SQL
    "CREATE TABLE users (id INT PRIMARY KEY, password VARCHAR(255) NOT NULL, token TEXT UNIQUE);",
    "SELECT password, token FROM users WHERE token = :token AND password = crypt(?, password)",
    "UPDATE users SET password = excluded.password, token = DEFAULT, secret = NULL",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-a1B2c3D4e5F6g7H8",
    "urn:shop:token:a1b2c3d4e5f6 and cache user:token:a1B2c3D4e5F6g7H8i9",
    '"ARN": "arn:aws:secretsmanager:eu-west-1:123:secret:shop-a1b2c3d4e5f6", "SecretArn": "arn:aws:x"',
    # logs, help and prose
    "2026-11-29 ERROR auth: invalid token: expired; password: incorrect",
    "input_tokens: 120000, token count: 9000, tokens=123456 token=unchanged",
    "usage: deploy [--token TOKEN] [--password PASSWORD] --api-key string   the key",
    "Use --password instead of --token-file, and --token without quotes",
    "SyntaxError: unexpected token: whatever comes next",
    "The secret: always test first. A token: something that stands for more.",
    "Enter the password: please wait",
    "PASSWORD_FILE=/run/secrets/db TOKEN_URL=https://shop.example/token MAX_TOKENS=100000",
    "--password\nswordfish is not told here",
]

HOLD = ["DB_PASSWORD", "PGPASSWORD", "apiKey", "--api-key", "clientSecret", "SECRET_KEY_BASE", "token2"]


@pytest.mark.parametrize(("before", "secret", "after"), ASSIGNED, ids=lambda value: value[:24])
def test_a_literal_of_a_secrets_name_is_masked_however_plain(before: str, secret: str, after: str) -> None:
    masker = Masker()
    masked = masker.mask(f"{before}{secret}{after}")
    assert masked in [f"{before}[masked: {kind}]{after}" for kind in ("password", "secret")]
    assert masker.masked.total() == 1


@pytest.mark.parametrize("text", READABLE, ids=lambda value: value[:24])
def test_text_that_mentions_secrets_stays_readable(text: str) -> None:
    assert Masker().mask(text) == text


@pytest.mark.parametrize("name", HOLD)
def test_six_characters_are_a_secret_and_five_are_not(name: str) -> None:
    assert Masker().mask(f"{name}=zephyr").endswith("]")
    assert Masker().mask(f"{name}=zephy") == f"{name}=zephy"


def test_what_was_masked_once_stays_as_it_is() -> None:
    masked = Masker().mask("DB_PASSWORD=swordfish\ntoken: 'swordfish'")
    assert Masker().mask(masked) == masked
