"""What is taken out of texts and documents, and what is left alone."""

from __future__ import annotations

import pytest

from app.redaction import Redaction, redact, redacted

# What a text is, and the part of it that must be gone.
SECRETS = [
    ('password = "hunter2!"', "hunter2!"),
    ("PASSWORD: hunter2", "hunter2"),
    ('{"password": "s3cr3t", "user": "bob"}', "s3cr3t"),
    ("DB_PASSWORD=tiger99 make run", "tiger99"),
    ("export API_KEY='abc'", "abc"),
    ("client_secret: abcDEF123", "abcDEF123"),
    ('refreshToken: "abc.def.ghi"', "abc.def.ghi"),
    ("os.environ['API_KEY'] = 'abcd1234'", "abcd1234"),
    ("GET /x?access_token=abcdef123&y=1", "abcdef123"),
    ("mysql --password=geheim1 -h db", "geheim1"),
    ("deploy --api-key abc123def", "abc123def"),
    ("curl -u admin:hunter2 https://x", "hunter2"),
    ("<password>hunter2</password>", "hunter2"),
    ('my password is "correct horse battery"', "correct horse"),
    ("the password is Tr0ub4dor&3", "Tr0ub4dor"),
    ("Server=db;User Id=sa;Password=Str0ng!Pass;Encrypt=true", "Str0ng!Pass"),
    ("AccountName=a;AccountKey=abc123==;EndpointSuffix=core", "abc123"),
    ("postgres://app:p@ss/w0rd@db.internal:5432/main", "p@ss/w0rd"),
    ("redis://:topsecret@cache:6379/0", "topsecret"),
    ("mongodb+srv://user:abc123@cluster0.mongodb.net/?retryWrites=true", "abc123"),
    ("amqps://svc:s3cret@mq.example.com/vhost", "s3cret"),
    ("Authorization: Bearer abcdef123456", "abcdef123456"),
    ('curl -H "Authorization: Basic dXNlcjpwYXNz" x', "dXNlcjpwYXNz"),
    ("it was called with Bearer AbC.123_def-456", "AbC.123_def-456"),
    ("X-Api-Key: 1234567890abcdef", "1234567890abcdef"),
    ("Cookie: session=abcdef; theme=dark", "abcdef"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi", "eyJzdWIiOiIxIn0"),
    ("sk-proj-abcdefghijklmnopqrstuvwxyz123456", "sk-proj-abc"),
    ("sk-ant-api03-AbCdEf0123456789_-xyz", "sk-ant-api03"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abc"),
    ("github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz", "github_pat_11"),
    ("glpat-abcdefghijklmnopqrst", "glpat-abc"),
    ("xoxb-123456789012-abcdefghijkl", "xoxb-123"),
    ("https://hooks.slack.com/services/T000/B000/XXXXyyyy", "XXXXyyyy"),
    ("sk_live_abcdefghijklmnop1234", "sk_live_abc"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA12345"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_abc"),
    ("SG.abcdefghijklmnopqrst.uvwxyzabcdefghijklmnop", "uvwxyzabc"),
    ("hf_abcdefghijklmnopqrstuvwx", "hf_abc"),
    ("parley_AbCdEfGhIjKlMnOpQrSt", "parley_AbC"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "b3BlbnNzaC1rZXk"),
]
HARMLESS = [
    "password: str",
    "password: string;",
    "password = Column(String(80))",
    "token = get_token()",
    'api_key=os.environ["API_KEY"]',
    "password = settings.password",
    "secret: ${SECRET}",
    "token=None",
    "max_tokens: 4000",
    "the password is hashed with bcrypt",
    "Why does the token expire early?",
    "User has id, username, email, profile_image_url",
    "What does POST /users return on conflict?",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "agent_0190c0ffee00000000000000000000ab",
    "see https://example.com:8080/path@x",
    "def login(user, password):\n    pass",
    "Basic auth is used; bearer authentication is not",
    "monkey=abc, keyboard: qwerty, asset/task-123",
    "a task-token refresh",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secrets_are_taken_out_once_and_for_all(text: str, secret: str) -> None:
    found = redact(f"Before. {text}\nAfter.") if "BEGIN OPENSSH" not in text else redact(f"Before. {text}")

    assert secret not in found
    assert found.startswith("Before. ")
    assert "[redacted:" in found
    assert redact(found) == found


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_not_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_addresses_go_where_that_is_wanted() -> None:
    text = "Write to jane.doe+x@example.co.uk, or ask @kyra."

    assert redact(text) == text
    assert redact(text, Redaction.SECRETS_AND_EMAILS) == "Write to [redacted:email], or ask @kyra."


def test_documents_are_cleaned_in_depth_and_by_name() -> None:
    given = {
        "password": "hunter2", "apiKey": "x", "list": ["token=abc123", {"auth_token": "y"}], "n": 7, "none": None,
        "max_tokens": "4000", "password_type": "str", "sk-proj-abcdefghijklmnopqrst": "as a name",
    }  # fmt: skip

    clean = redacted(given)

    assert clean["password"] == clean["apiKey"] == clean["list"][1]["auth_token"] == "[redacted:password]"
    assert clean["list"][0] == "token=[redacted:password]"
    assert (clean["n"], clean["none"], clean["max_tokens"]) == (7, None, "4000")
    assert "[redacted:key]" in clean
    assert redacted(clean) == clean


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["a", "password", "-", "password ", "eyJ", "x-", "a.", "token=", ' "', "a_", "://a:"])
def test_hostile_texts_take_no_longer_than_their_length(piece: str) -> None:
    redact(piece * (20_000 // len(piece)) + "@", Redaction.SECRETS_AND_EMAILS)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("start", "piece"), [(" -u ", "="), ("", "-eyJ"), ("", "a://a:a"), ("", "https://a.")])
def test_what_looks_like_a_secret_everywhere_takes_no_time_by_its_square(start: str, piece: str) -> None:
    text = start + piece * (150_000 // len(piece))

    assert redact(text) == text


def test_each_of_two_addresses_loses_its_own_password() -> None:
    text = "postgres://app:one@db/main,redis://:two@cache/0"

    assert redact(text) == "postgres://[redacted:credentials]@db/main,redis://[redacted:credentials]@cache/0"
