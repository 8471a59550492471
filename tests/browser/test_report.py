"""The report of a race, in a real browser."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onkel.race import report
from onkel.race.outcome import Outcome
from onkel.race.race import race
from onkel.race.settings import RaceSettings
from onkel.race.streams import digits

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PHONE = 390


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="selenium is not installed: no browser to drive"
    )
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip(
            "no browser here: Debian's packages chromium and chromium-driver have one"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(driver)
    window = webdriver.Chrome(options=options, service=service)
    yield window
    window.quit()


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    stream = digits()
    stream = dataclasses.replace(
        stream, name="<b>digits</b>", X=stream.X[:200].astype(float), y=stream.y[:200]
    )
    settings = RaceSettings(
        budget=20, gamma=0.25, systems=["BSGD", "RBP"], permutations=2
    )
    return race(stream, settings)


@pytest.fixture
def page(browser: Any, outcome: Outcome, tmp_path: Path) -> Any:
    document, *_ = report.save([outcome], tmp_path)
    browser.get(document.as_uri())
    return browser


def column(page: Any, number: int) -> list[str]:
    cells = page.find_elements("css selector", f"tbody td:nth-child({number})")
    return [cell.text for cell in cells]


def test_table_has_everyone_and_sorts_by_a_click(page: Any, outcome: Outcome) -> None:
    names = [result.name for result in outcome.results]
    assert column(page, 2) == names
    assert column(page, 1)[0] == "1"
    heads = page.find_elements("css selector", "thead button")
    heads[3].click()
    rates = [float(text.replace(",", "")) for text in column(page, 4)]
    assert rates == sorted(rates)
    heads[3].click()
    assert column(page, 4) == [f"{rate:,.0f}" for rate in sorted(rates)[::-1]]
    heads[1].click()
    assert sorted(column(page, 2), key=str.lower) == sorted(names, key=str.lower)
    assert column(page, 2) != names
    heads[0].click()
    assert column(page, 2) == names


def test_figures_are_there_and_say_what_they_show(page: Any) -> None:
    drawn = page.find_elements("css selector", "figure svg")
    assert len(drawn) == 3
    for figure in drawn:
        assert figure.size["width"] > 500 and figure.size["height"] > 300
        assert len(figure.get_attribute("aria-label")) > 40
        written = [text.text for text in figure.find_elements("css selector", "text")]
        assert {"BSGD", "RBP"} <= {
            text.split("  ")[0].split(" ")[0] for text in written
        }


def test_nothing_is_asked_for_and_nothing_complains(page: Any) -> None:
    assert page.get_log("browser") == []
    asked = page.execute_script("return performance.getEntriesByType('resource')")
    assert asked == []


def test_names_are_text_not_markup(page: Any) -> None:
    assert page.find_element("css selector", "h1").text == "Race on <b>digits</b>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_has_no_sideways_scrolling_and_letters_stand_out(
    page: Any, scheme: str
) -> None:
    size = {"width": PHONE, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
    try:
        width = page.execute_script("return document.documentElement.scrollWidth")
        assert width <= PHONE
        assert _contrast(page, "body") > 7
        assert _contrast(page, "figure svg text") > 4.5
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def _luminance(colour: str) -> float:
    """Return the relative luminance of "rgb(r, g, b)", as WCAG defines it."""
    parts = np.array([float(part) for part in colour[4:-1].split(",")[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _contrast(page: Any, selector: str) -> float:
    """Return the ratio of luminances of letters and ground, brighter over darker."""
    ink, ground = page.execute_script(
        """
        const own = getComputedStyle(document.querySelector(arguments[0]));
        const svg = document.querySelector(arguments[0]) instanceof SVGElement;
        return [svg ? own.fill : own.color,
                getComputedStyle(document.body).backgroundColor];
        """,
        selector,
    )
    dark, bright = sorted([_luminance(ink), _luminance(ground)])
    return (bright + 0.05) / (dark + 0.05)
