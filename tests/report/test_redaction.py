"""No form of a report carries credentials, in whatever shape the log quotes them; and nothing else is taken away."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.redaction import redacted
from ddtree_ops.report.safe_text import block, one_line, several
from tests.hang import ends
from tests.triage.journals import plain

KEY = "sk-ab.C_1~+/2=="
HF = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl-_1"
AWS = "AKIA" + "ABCDEFGHIJKLMNOP"
LONG = "wJalrXUtnFEMIK7MDENGbPxRfiCYzzKEY1"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F0F\n\nMIIEvQIBADANBgkqhkiG9w0BAQ\n"
    "abcdEFGH\n-----END RSA PRIVATE KEY-----"
)
QUOTED = (
    f"Authorization: Bearer {KEY}",
    f"authorization:bearer {KEY}",
    f"{{'Authorization': 'Bearer {KEY}', 'Accept': '*/*'}}",
    f"[(b'authorization', b'Bearer {KEY}')]",
    f'{{\\"Authorization\\": \\"Bearer {KEY}\\"}}',
    f"Proxy-Authorization: Basic {KEY}",
    f"Authorization: {KEY}",
    f"x\\nBearer {KEY}\\n",
    f"Bea\u200brer \x1b[1m{KEY}",
    f"Bearer          {KEY}",
    f"Bearer '{KEY}'",
    f"Bearer%20{KEY}",
)
# (text, the secret in it, what must still stand there)
SHAPES = (
    (f"server_args=ServerArgs(model_path='/m', api_key='{KEY}', tp_size=8)", KEY, "model_path='/m', api_key='***', tp_size=8)"),
    (f"ServerArgs(api_key=None, admin_api_key=\"{LONG}\", tokenizer_path='/m')", LONG, 'api_key=None, admin_api_key="***", tok'),
    ("ServerArgs(ssl_keyfile_password='a b\\'c', ssl_keyfile='/etc/k.pem')", "a b", "='***', ssl_keyfile='/etc/k.pem')"),
    (f"token={HF} in use", HF, "in use"),
    (f"downloading with {HF}.", HF, "downloading with ***."),
    (f"HF_TOKEN={HF} WANDB_API_KEY={'0123456789' * 4} PWD=/root python", "0123456789", "PWD=/root python"),
    (f"AWS_ACCESS_KEY_ID={AWS} AWS_SECRET_ACCESS_KEY={LONG}", LONG, "AWS_SECRET_ACCESS_KEY=***"),
    (f"credentials {AWS} expired", AWS, "credentials *** expired"),
    ("ghp_" + "a1B2" * 9 + " pushed", "a1B2", " pushed"),
    ("github_pat_" + "11AA_bb" * 6, "11AA", ""),
    ("key sk-proj-" + "Ab1-" * 8 + " is bad", "Ab1", " is bad"),
    ("glpat-" + "x1Y2" * 5, "x1Y2", ""),
    ("xoxb-1234567890-abcDEF", "1234567890", ""),
    ("nvapi-" + "Zz9_" * 8, "Zz9", ""),
    (f"session {JWT} ended", JWT, "session *** ended"),
    (f"--api-key {KEY} --tp 8", KEY, "--api-key *** --tp 8"),
    (f"['--api-key', '{LONG}', '--tp-size', '8']", LONG, "['--api-key', '***', '--tp-size', '8']"),
    ("api_key='sk-lowercase'", "sk-lower", "api_key='***'"),
    (f"--hf-token={LONG}", LONG, "--hf-token=***"),
    (f"--admin_api_key {LONG}", LONG, "--admin_api_key ***"),
    ("password=hunter2 next", "hunter2", "password=*** next"),
    ("password: hunter2", "hunter2", "password: ***"),
    ('{"db_password": "hun,ter 2", "x": 1}', "hun", '"db_password": "***", "x": 1}'),
    ('{\\"client_secret\\": \\"hunter2\\"}', "hunter2", '\\"client_secret\\": \\"***\\"}'),
    (f"'accessToken': '{LONG}'", LONG, "'accessToken': '***'"),
    (f"x-api-key: {LONG}", LONG, "x-api-key: ***"),
    (f"[(b'x-api-key', b'{LONG}')]", LONG, "(b'x-api-key', b'***')]"),
    ("Cookie: session=abc123; theme=dark", "abc123", "Cookie: ***"),
    ("set-cookie: sid=s%3Aabc; Path=/; HttpOnly", "abc", "set-cookie: ***"),
    ("get(url, cookies={'sid': 'abc'}, timeout=3)", "abc", "cookies=***, timeout=3)"),
    ("https://user:pa:ss@host.org/x", "pa:ss", "https://user:***@host.org/x"),
    ("redis://:hunter2@10.0.0.1:6379/0", "hunter2", "redis://:***@10.0.0.1:6379/0"),
    (f"git clone https://{LONG}@github.com/a/b", LONG, "https://***@github.com/a/b"),
    (f"GET /v1?token={LONG}&page=2", LONG, "token=***&page=2"),
    ("https://cdn.org/f?X-Amz-Signature=0a1b&X-Amz-Expires=3600", "0a1b", "X-Amz-Signature=***&X-Amz-Expires=3600"),
    ("https://b.blob.net/f?sv=2020&sig=a%2Fb", "a%2F", "sv=2020&sig=***"),
    ('Authorization: Digest username="u", response="abc"', 'response="abc"', "Authorization: Digest ***"),
    (f"Authorization: AWS4-HMAC-SHA256 Credential={AWS}/x, Signature={'0a' * 32}", "0a0a", "Signature=***"),
    ("/etc/passwd:hunter2 next", "hunter2", "/etc/passwd:*** next"),
    ("/etc/passwd:12abc next", "12abc", "/etc/passwd:*** next"),
    ("/etc/passwd: 12345 next", "12345", "/etc/passwd: *** next"),
    ("/etc/passwd:123456 next", "123456", "/etc/passwd:*** next"),
    ("login/password:1234 next", "1234", "login/password:*** next"),
    ("/password:1234 next", "1234", "/password:*** next"),
    ("https://host/a/password:1234 next", "1234", "password:*** next"),
    ("/srv/password=1234 next", "1234", "/srv/password=*** next"),
    ("sshpass -p hunter2 ssh host", "hunter2", "sshpass -p *** ssh host"),
    (PEM + "\nafter", "MIIE", "\nafter"),
    (PEM.replace("\n", "\\n") + "' bad", "MIIE", "' bad"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n  b3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n", "b3Bl", ""),
)
HARMLESS = (
    "authorization failed: no key",
    "the bearers come",
    "Authorization",
    "author: x",
    "bearer token is missing",
    "credential api_key: is empty",
    "password: must not be empty",
    "KeyError: 'token'",
    "KeyError: 'api_key'",
    "api_key=None, token=None, password=''",
    "Unexpected token: <|im_end|> at 3",
    "token_ids=[1, 2] eos_token_id=151645 max_new_tokens=33 num_draft_tokens: 8 #new-token: 11, token usage: 0.5",
    "eos_token='</s>', pad_token=\"<pad>\", mask_token=<|MASK|>",
    "client = OpenAI(api_key=api_key, password=self.password)",
    "def __init__(self, api_key: str | None = None, token: Optional[str] = None)",
    'token = os.environ["HF_TOKEN"]',
    "export HF_TOKEN=$HF_TOKEN; --api-key <API_KEY> --password {password}",
    "s=tap;i=64;b=de7bcb44228d4a99ab11ac02c6d5806a;m=1a2b;t=5f;x=0123456789abcdef",
    "20aebe97976f2c3f a96dba56f5384135a367ca601c3e0aed sha256:" + "0a" * 32,
    "torch.Size([8, 33]) tensor a (8) must match tensor b (33)",
    "/opt/ddtree/current/venv/lib/python3.12/site-packages/sglang/srt/token_dispatcher.py",
    "tcp://10.0.0.1:29500 ssh://git@host/x ipc:///tmp/a git@github.com:a/b http://[::1]:30000/generate",
    "PWD=/opt/ddtree private_key=/etc/ssl/key.pem",
    "/etc/passwd:12: an inventory file is a mapping; see (/srv/my.secret:3:14) and '/etc/ssl/private_key:7'",
    "expected a -----BEGIN PRIVATE KEY----- header",
    "--ssl-keyfile /etc/k --speculative-token-map /m --tokenizer-path /m --skip-tokenizer-init",
    "task-scheduling-with-long-name-and-dashes risk-averse-model-name",
    "hf_config hf_transformers_model_config",
    "0x7f2a4c00 GPU-5a1b2c3d-0000-1111-2222-333344445555 0000:a1:00.0",
)


@pytest.mark.parametrize("text", QUOTED)
def test_a_token_is_left_out_however_it_is_quoted(text: str) -> None:
    for shown in (one_line(f"before {text} after"), block(f"before\n  {text}\nafter")):
        assert "sk-" not in shown
        assert "***" in shown
        assert shown.startswith("before")
        assert shown.endswith("after")


@pytest.mark.parametrize(("text", "secret", "rest"), SHAPES)
def test_every_shape(text: str, secret: str, rest: str) -> None:
    shown = redacted(text)
    assert secret not in shown
    assert "***" in shown
    assert rest in shown
    assert shown.count("\n") == text.count("\n")
    assert redacted(shown) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays(text: str) -> None:
    assert redacted(text) == text


def test_a_token_on_the_next_line() -> None:
    assert block(f"Bearer\n  {KEY}\nafter") == "Bearer\n  ***\nafter"
    assert block("no bearer\nRuntimeError: x") == "no bearer\nRuntimeError: x"


def test_a_key_that_spans_lines_of_the_log() -> None:
    lines = several((*tuple(PEM.split("\n")), "after"))
    assert len(lines) == PEM.count("\n") + 2
    assert "MIIE" not in "".join(lines)
    assert lines[-1] == "after"


@pytest.mark.parametrize(
    "piece",
    [
        "a_",
        "password= ",
        "password='",
        "sk-",
        "-----BEGIN PRIVATE KEY-----",
        "http://a:",
        "@",
        "bearer ",
        "authorization: ",
        "x-",
        "a.b-",
    ],
)
def test_a_long_text_comes_to_an_end(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    for whole in (text, f"-----BEGIN PRIVATE KEY-----{text}", f"password='{text}"):
        with ends():
            redacted(whole)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from([*(text for text, _, _ in SHAPES), *HARMLESS, *QUOTED, "\n", " ", "'", '"', "\\", "\ud800"]), max_size=6
    )
)
def test_lines_stay_lines(parts: list[str]) -> None:
    text = "".join(parts)
    assert redacted(text).count("\n") == text.count("\n")


def test_no_form_of_a_report_has_it() -> None:
    lines = [
        "[2026-04-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):",
        f'  File "/opt/x/Bearer {KEY}.py", line 1, in ask',
        f'    send({{"Authorization": "Bearer {KEY}"}})',
        f"Bearer.Error: cause Bearer {KEY}",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "/opt/x/b.py", line 1, in ask',
        f"    get('https://u:{LONG}@h/x?token={LONG}')",
        f"ValueError: Invalid header value b'Bearer {KEY}'",
        f"second line: Authorization: Bearer {KEY}, {HF}",
    ]
    report = triage_entries(plain("\n".join(lines)), host=f"Bearer {KEY}", unit=f"Bearer {KEY}")
    forms = [json.dumps(report.to_data()), report.to_json(), report.to_markdown(), report.to_html()]
    forms += [report.to_terminal(colour=colour, width=width) for colour in (False, True) for width in (40, 200)]
    for text in forms:
        assert "Invalid header value" in text
        for secret in ("sk-", LONG, HF):
            assert secret not in text.replace("\\", "")


def test_nor_have_titles_and_evidence() -> None:
    words = f"ddtree launcher: crashed: Bearer {KEY} (exit 70)"
    report = triage_entries(plain(words))
    assert "sk-" not in report.to_json() + report.to_markdown() + report.to_terminal(colour=False) + report.to_html()
    assert report.root is not None
