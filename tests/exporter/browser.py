"""Headless Chromium for the page's tests: one for all of them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest

SEEN_SECONDS = 8.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--hide-scrollbars",
)
needs_browser = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="needs Debian's chromium and chromedriver"
)
# Of every text: its colour over all that is painted behind it, by WCAG 2.2's relative luminance.
CONTRAST = """
const parse = (text) => { const p = text.match(/[\\d.]+/g).map(Number); return [...p.slice(0, 3), p[3] ?? 1]; };
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
const light = (c) => [0, 1, 2].map((i) => c[i] / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const worst = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
  if (!text || !element.checkVisibility() || element.closest(".unseen, .skip, progress, title, script, noscript")) continue;
  const chain = []; for (let e = element; e; e = e.parentElement) chain.unshift(e);
  let back = [255, 255, 255, 1], opacity = 1;
  for (const e of chain) {
    const s = getComputedStyle(e);
    back = over(parse(s.backgroundColor), back); opacity *= Number(s.opacity);
  }
  const colour = parse(getComputedStyle(element).color); colour[3] *= opacity;
  const a = light(over(colour, back)), b = light(back);
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) worst.push(`${text.slice(0, 30)} ${ratio.toFixed(2)} in ${element.className || element.tagName}`);
}
return worst;
"""


class Browser:
    """What the tests do with it; `driver` is selenium's."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-proxy-server",
            "--hide-scrollbars",
        ):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def reset(self) -> None:
        """An empty page as people have it."""
        self.driver.get("about:blank")
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        self.size(1280, 800)
        self.media()
        self.complaints()

    def command(self, name: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)

    def size(self, width: int, height: int, scale: float = 1.0) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600
        )

    def media(self, scheme: str = "light", motion: str = "no-preference") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]
        self.command("Emulation.setEmulatedMedia", features=features)

    def ask(self, expression: str) -> Any:
        return self.driver.execute_script(f"return {expression}")

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def texts(self, selector: str) -> list[str]:
        """All at one moment: elements that selenium holds may be replaced while it asks them."""
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)"
        found: list[str] = self.driver.execute_script(script, selector)
        return found

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def complaints(self) -> list[str]:
        """The console since the last call: blocked by policy, errors of scripts, what couldn't be loaded."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def until(self, question: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + SEEN_SECONDS
        while time.monotonic() < deadline:
            answer = question()
            if answer:
                return answer
            time.sleep(0.05)
        raise AssertionError(
            f"not within {SEEN_SECONDS:.0f} s: {what}; the page says: {self.ask('document.body.innerText')[:400]}"
        )
