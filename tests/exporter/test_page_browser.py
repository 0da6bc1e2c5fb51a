"""The page as people have it: in Chromium, with and without JavaScript, by keyboard, on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest

from ddtree_ops.exporter.sight.readings import Observed
from tests.exporter.browser import CONTRAST, Browser, needs_browser
from tests.exporter.fleet_model import NOW, Model, observed
from tests.exporter.page_site import PageSite
from tests.exporter.test_page import HOSTILE as ENDLESS
from tests.exporter.test_page import KNOWN

pytestmark = [needs_browser, pytest.mark.processes]
HOSTILE = ENDLESS[:200]
FOCUSED = """
const e = document.activeElement;
return [e.textContent.trim() || e.id, e.getBoundingClientRect().top >= 0, getComputedStyle(e).outlineStyle];
"""
LOADING = Model("ct201", state="activating", phase="weights", progress=0.43, eta=214, moved=1, answers=0, generated=None)
OF_A_RESTART = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE", "ERR_EMPTY_RESPONSE")
MODELS = (
    Model("ct200"),
    LOADING,
    Model("ct202", queued=12, drift={"file": 2}, restarts=1),
    Model("ct203", state="activating", phase="graph_capture", progress=0.9, moved=400, answers=0),
    Model("b300-1", state="failed", exit_code=70, failures=((KNOWN, "graph_token_count_mismatch", "root", 95.0),)),
    Model("lost", problem="lost: no route to host", read_ago=500),
)
AGES = (0, 59, 60, 3599, 3600, 172799, 172800, 1e7)
DIED = replace(MODELS[0], state="failed", exit_code=70, restarts=1, answers=0)


class Clock:
    now = 1_790_000_000.0

    def __call__(self) -> float:
        """Each look is later, so that no frame is taken for a fresh one."""
        self.now += 1.0
        return self.now


def fleet(*models: Model) -> list[Observed]:
    return [observed(model, Clock.now) for model in models or MODELS]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    browser = Browser()
    try:
        yield browser
    finally:
        browser.driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    chromium.reset()
    yield chromium
    assert [line for line in chromium.complaints() if not any(name in line for name in OF_A_RESTART)] == []


@pytest.fixture
def site(browser: Browser) -> Iterator[PageSite]:
    """The page is left before the site stops."""
    found = PageSite(fleet(), Clock())
    yield found
    browser.driver.get("about:blank")
    found.stop()


def hosts(browser: Browser) -> list[str]:
    return browser.texts(".fleet tbody .c-host a")


def test_without_javascript(browser: Browser, site: PageSite) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    browser.driver.get(site.url)
    assert hosts(browser) == ["b300-1", "ct203", "lost", "ct201", "ct200", "ct202"]
    assert browser.texts("tr.failed .state, tr.loading .state") == ["failed", "loading\nweights"]
    assert browser.texts("tr.failed time") == ["1 min ago"]
    assert browser.all("noscript meta[http-equiv=refresh]")
    field = browser.all("#q")[0]
    field.send_keys("ct20")
    field.submit()
    browser.until(lambda: "q=ct20" in browser.driver.current_url, "the filter's address")
    assert hosts(browser) == ["ct203", "ct201", "ct200", "ct202"]
    browser.all(".chip.loading")[0].click()
    assert hosts(browser) == ["ct201"]


def test_a_row_changes_while_one_looks(browser: Browser, site: PageSite) -> None:
    browser.driver.get(site.url)
    browser.until(lambda: browser.texts("#live-words") == ["live"], "that it is live")
    link = browser.all("tr.serving .c-host a")[0]
    browser.driver.execute_script("arguments[0].focus()", link)
    site.fleet = fleet(DIED, *MODELS[1:])
    browser.until(lambda: hosts(browser)[:2] == ["b300-1", "ct200"], "the row of the host that died among the failed")
    assert browser.ask("document.activeElement.textContent") == "ct200"
    assert browser.ask("document.querySelector('.chip.failed').textContent") == "2 failed"
    assert browser.ask("document.title").startswith("2 failed, 1 stalled")
    assert browser.ask("document.getElementById('said').textContent") == "ct200: failed"
    assert browser.ask("document.getElementById('said').getAttribute('aria-live')") == "polite"
    site.fleet = site.fleet[:-1]
    browser.until(lambda: "lost" not in hosts(browser), "the row of the host that left, gone")


def test_after_a_restart_of_the_exporter_it_goes_on(browser: Browser, site: PageSite) -> None:
    browser.driver.get(site.url)
    browser.until(lambda: browser.texts("#live-words") == ["live"], "that it is live")
    site.stop()
    browser.until(lambda: browser.texts("#live-words")[0].startswith("not connected, last seen"), "that it isn't connected")
    site.fleet = fleet(DIED, *MODELS[1:])
    site.start()
    browser.until(lambda: browser.texts("#live-words") == ["live"], "that it is connected again")
    browser.until(lambda: "ct200" in browser.texts("tr.failed .c-host a"), "what happened meanwhile")


def test_a_host_page_is_live(browser: Browser, site: PageSite) -> None:
    browser.driver.get(site.url + "/?host=ct201")
    assert browser.texts(".steps .now") == ["weights"]
    site.fleet = fleet(MODELS[0], replace(LOADING, phase="graph_capture", progress=0.8), *MODELS[2:])
    browser.until(lambda: browser.texts(".steps .now") == ["graph capture"], "the next phase")
    assert browser.texts(".wide b") == ["80%"]


def test_script_and_exporter_tell_ages_by_the_same_words(browser: Browser) -> None:
    failed = [Model(f"h{at}", failures=((KNOWN, "host_oom", "root", age),)) for at, age in enumerate(AGES)]
    site = PageSite([observed(model) for model in failed], lambda: NOW)
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    browser.driver.get(site.url)
    told = browser.texts("time")
    browser.command("Emulation.setScriptExecutionDisabled", value=False)
    browser.driver.get(site.url)
    browser.until(lambda: browser.texts("#live-words") == ["live"], "that it is live")
    assert len(set(told)) == len(AGES)
    assert browser.texts("time") == told
    browser.driver.get("about:blank")
    site.stop()


@pytest.mark.parametrize("host", ["", "?host=b300-1", "?host=ct201", "?host=ct202"])
def test_narrow(browser: Browser, site: PageSite, host: str) -> None:
    for width in (360, 320, 700):
        browser.size(width, 780)
        browser.driver.get(f"{site.url}/{host}")
        assert browser.ask("document.documentElement.scrollWidth") <= width


def test_by_keyboard(browser: Browser, site: PageSite) -> None:
    browser.driver.get(site.url)
    browser.until(lambda: browser.texts("#live-words") == ["live"], "that it is live")
    seen = []
    for _ in range(40):
        browser.press("\ue004")
        where = browser.driver.execute_script(FOCUSED)
        assert where[1], f"{where} can't be seen"
        assert where[2] != "none", f"{where[0]} doesn't show that it has the focus"
        seen.append(where[0])
        if where[0] == "metrics":
            break
    assert seen[0] == "Skip to the content"
    assert seen.index("q") < seen.index("Filter") < seen.index("Host") < seen.index("b300-1") < seen.index("ct202")
    assert "graph_token_count_mismatch" in seen
    browser.all("body")[0].click()
    browser.driver.get(site.url)
    browser.press("\ue004", "\ue007", "\ue004")
    assert browser.ask("document.activeElement.closest('main') !== null")


def test_hostile_words(browser: Browser, site: PageSite) -> None:
    bad = Model(
        HOSTILE,
        hardware=HOSTILE,
        model=HOSTILE,
        release=HOSTILE,
        state="activating",
        phase=HOSTILE,
        progress=0.5,
        cause=HOSTILE,
        fix=HOSTILE,
        failures=((KNOWN, HOSTILE, "root", 9.0), ("b" * 16, HOSTILE, HOSTILE, 8.0)),
    )
    site.fleet = fleet(bad, *MODELS)
    browser.size(360, 780)
    for path in ("/", "/?q=%3Cscript%3E&state=%22%3E%3Cb%3E", "/?host=" + quote(HOSTILE)):
        browser.driver.get(site.url + path)
        assert browser.ask("document.scripts.length") <= 1
        assert browser.ask("document.documentElement.scrollWidth") <= 360
    browser.driver.get(site.url)
    site.fleet = fleet(replace(bad, model="<img src=x onerror=alert(1)>"), *MODELS)
    browser.until(lambda: "<img src=x onerror=alert(1)>" in browser.texts(".c-model span"), "the new name, as text")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Browser, site: PageSite, scheme: str) -> None:
    browser.media(scheme, "reduce")
    for path in ("/", "/?state=failed", "/?host=b300-1", "/?host=ct203", "/?host=ct202", "/?host=lost"):
        browser.driver.get(site.url + path)
        assert browser.driver.execute_script(CONTRAST) == [], path
    assert browser.ask("document.getAnimations().length") == 0


def test_a_thousand_hosts(browser: Browser, site: PageSite) -> None:
    site.fleet = fleet(*(Model(f"h{index}", queued=index % 5) for index in range(1000)))
    browser.driver.get(site.url)
    browser.until(lambda: browser.ask("document.querySelectorAll('#fleet tbody tr').length") == 1000, "all rows")
    browser.until(lambda: browser.texts("#live-words") == ["live"], "that it is live")
    field = browser.all("#q")[0]
    field.send_keys("h99")
    field.submit()
    browser.until(lambda: len(hosts(browser)) == 11, "the rows that match")
