"""Masking takes time linear in the length of a text, whatever repeats in it."""

import time

import pytest

from manifests.sessions.secrets import Masker


@pytest.mark.parametrize(
    "part",
    [
        "x",
        "eyJ",
        "eyJaaaaaaaaa.",
        "://a:",
        "password=",
        "token=",
        "token=(",
        'password="',
        "password: a",
        "secret_",
        "--token ",
        '"auth',
        "authorization: ",
        "-----" + "BEGIN PRIVATE KEY-----",
        "sk-",
        "-u a:",
        "mysql -a ",
        "docker login ",
        "sshpass -a",
        "htpasswd -c ",
        "az login -a ",
        "echo a|sudo ",
        "echo a | b ",
        "sudo -S a ",
        "az login \\\n",
        "mysql  \\\n  -a",
        "client-key-data: ",
        "LS0tLS1CRUdJTiBQUklWQVRF",
        "LS0tLS1CRUdJTiBQUklWQVRF\n",
        "Private-Lines: 1\n",
        "1234567:AA",
        ".atlasv1.",
        "bearer a.b",
        "bearer a.aaaaaaaaaaaaaaaa1",
        "gsk_",
        " hvs.",
        " SG.a",
        " tskey-a-",
        " fm2_+",
        " re_pat",
        "password is ",
        "password=a&",
        "PASSWORD=(;",
        "TOKEN=a;",
        "sig=",
        "q~",
        "++++",
        "\\n",
    ],
)
def test_time_is_linear_in_the_length_of_a_line(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part))
        begun = time.process_time()
        Masker().mask(text)
        return time.process_time() - begun

    # Eight times the length would be sixty-four times the time if it were quadratic.
    assert any(seconds(800_000) < 24 * max(seconds(100_000), 0.01) for _ in range(5))
