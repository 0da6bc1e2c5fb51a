"""Draws docs/images/status/*.png: the status page in headless Chromium, of a made-up fleet. Run from the repository's root:

python -m docs.draw_status_page
"""

from __future__ import annotations

import time
from pathlib import Path

from tests.exporter.browser import Browser
from tests.exporter.demo_fleet import demo_site

FOLDER = Path(__file__).parent / "images" / "status"
NOW = 1_790_000_000.0
# Name, path, width, height, colours.
PICTURES = (
    ("fleet-light", "/", 1360, 900, "light"),
    ("fleet-dark", "/", 1360, 900, "dark"),
    ("phone", "/", 360, 760, "light"),
    ("loading", "/?host=ct201", 1360, 700, "dark"),
    ("failed", "/?host=ct200", 1360, 700, "light"),
    ("not-answering", "/?host=ct204", 1360, 800, "dark"),
    ("unreachable", "/?host=lab-1", 1360, 800, "light"),
    ("serving", "/?host=ct203", 1360, 800, "light"),
)
_LIVE = "document.getElementById('live-words').textContent === 'live'"


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    site, browser = demo_site(NOW), Browser()
    try:
        for name, path, width, height, scheme in PICTURES:
            browser.size(width, height, 2.0 if width < 600 else 1.0)
            browser.media(scheme, "reduce")
            browser.driver.get(site.url + path)
            browser.until(lambda: browser.ask(_LIVE), "that it is live")
            time.sleep(0.3)
            browser.driver.save_screenshot(str(FOLDER / f"{name}.png"))
    finally:
        browser.driver.quit()
        site.stop()


if __name__ == "__main__":
    main()
