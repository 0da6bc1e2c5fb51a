"""Role `monitoring`: variables that would stop a service, or that nobody reads, are refused before anything changes."""

from __future__ import annotations

import socket

import pytest
import yaml

from tests.roles.monitoring import ROLE, load

pytestmark = pytest.mark.processes
MISTAKES = load("filter_plugins/monitoring_mistakes.py").mistakes
LISTEN = load("library/ddtree_listen.py")
GOOD = {
    "monitoring_listen": ["127.0.0.1", "::", "::1", "0.0.0.0", "localhost", "fe80::1%eth0", "gpu-1.example.net", "10.example"],  # noqa: S104
    "monitoring_prometheus_listen": ["127.0.0.1:9090", ":9090", "[::]:9090", "watch:1", "[fe80::1%eth0]:65535"],
    "monitoring_alertmanager_listen": ["127.0.0.1:9093"],
    "monitoring_retention": ["30d", "1d12h", "1y2w3d4h5m6s7ms", "0d1h"],
    "monitoring_scrape_interval": ["15s", "500ms"],
    "monitoring_sd_refresh": ["30s"],
    "monitoring_sd_url": ["", "https://host:9736", "http://[::1]:9736/below"],
    "monitoring_grafana_prometheus": ["http://127.0.0.1:9090"],
}
WRONG = {
    "monitoring_listen": ["300.1.2.3", "1.2.3", "127.0.0.1:9736", "[::1]", "a b", "-a", "a..b", 'x"y', "", "127.0.0.1\n", "7"],
    "monitoring_prometheus_listen": [
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "::1:9090",
        "300.1.2.3:9090",
        "[a]:9090",
        ":²",
        "",
    ],
    "monitoring_alertmanager_listen": ["127.0.0.1:http", "127.0.0.1:9093 --cluster.peer=a"],
    "monitoring_retention": [
        "forever",
        "",
        "0",
        "0d",
        "30",
        "30 d",
        "1h1d",
        "-1d",
        "1.5d",
        "300y",
        "99999999999d",
        '30d" --web.enable-admin-api',
    ],
    "monitoring_scrape_interval": ["15", "fast"],
    "monitoring_sd_refresh": ["0s"],
    "monitoring_sd_url": ["host:9736", "ftp://host", "http://", "http://a:99999", "http://a b"],
    "monitoring_grafana_prometheus": ["127.0.0.1:9090", ""],
}


def each(cases: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in cases.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), each(GOOD))
def test_what_services_take_passes(name: str, text: str) -> None:
    assert MISTAKES([name], {name: text}) == []


@pytest.mark.parametrize(("name", "text"), each(WRONG))
def test_what_would_stop_a_service_is_refused_with_name_and_example(name: str, text: str) -> None:
    (told,) = MISTAKES([name], {name: text})
    assert told.startswith(f"{name}: {text[:80]!r} is ")


def test_a_misspelled_name_is_refused_with_the_near_one() -> None:
    assert MISTAKES(["monitoring_retentoin", "monitoring_zzz"], {}) == [
        "monitoring_retentoin is no variable of role monitoring; did you mean monitoring_retention?",
        "monitoring_zzz is no variable of role monitoring",
    ]


def test_all_that_the_role_documents_and_uses_passes() -> None:
    options = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    own = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text())
    assert MISTAKES([*options, *own, *defaults, "monitoring_told"], {}) == []
    assert set(defaults) <= set(options)


def test_a_port_of_the_inventory_is_judged_with_its_address() -> None:
    assert MISTAKES([], {}, ["127.0.0.1:9736", "127.0.0.1:None"])[0].startswith(
        "a service would listen on '127.0.0.1:None', which is no HOST:PORT"
    )


@pytest.mark.parametrize("host", ["", "::", "0.0.0.0", "127.0.0.1", "localhost"])  # noqa: S104
def test_an_address_of_this_machine_can_be_listened_on(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:  # what runs there already doesn't matter
        place = f"[{host}]" if ":" in host else host
        assert LISTEN.mistakes([f"{place}:{held.getsockname()[1]}"]) == []


@pytest.mark.parametrize(
    ("host", "why"),
    [("192.0.2.77", "Cannot assign requested address"), ("a" * 64, ""), ("300.1.2.3", "")],
)
def test_an_address_of_another_machine_can_not(host: str, why: str) -> None:
    """192.0.2.0/24 is nobody's (RFC 5737)."""
    (told,) = LISTEN.mistakes([f"{host}:9736", f"{host}:9100"])
    assert told.startswith(f"nothing can listen on {host} here: {why}")


@pytest.mark.parametrize("other", ["127.0.0.1:9100", ":9100", "[::]:9100"])
def test_two_services_at_one_port_are_refused(other: str) -> None:
    assert LISTEN.mistakes(["127.0.0.1:9100", other]) == [
        f"two services would listen on the same port, 127.0.0.1:9100 and {other}",
    ]
    assert LISTEN.mistakes(["127.0.0.1:9100", "127.0.0.2:9100", "127.0.0.1:9101"]) == []
