"""The components: what each draws, and that nothing a person typed becomes markup."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template

from gangline.web import components, formats

NOW = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)
EVIL = "<script>alert(1)</script>"


@dataclass(frozen=True)
class Status:
    word: str = "Running"
    tone: str = "good"
    shape: str = "running"


@dataclass(frozen=True)
class Problem:
    text: str
    target: str = ""


@dataclass(frozen=True)
class Step:
    word: str
    value: str = "setup"
    is_current: bool = False
    is_done: bool = False
    problems: int = 0
    sections: tuple[tuple[str, str, str], ...] = ()


def draw(source: str, **context: object) -> str:
    """Where the lines of a template break is not asked."""
    return " ".join(Template(source).render(Context(context)).split())


def test_an_icon_without_label_is_hidden_from_screen_readers() -> None:
    assert 'aria-hidden="true"' in components.icon("plus")
    assert components.icon("plus").endswith('icons.svg#plus"/></svg>')


def test_an_icon_with_label_is_an_image_with_that_name() -> None:
    drawn = components.icon("check", "Done")
    assert 'role="img"' in drawn
    assert 'aria-label="Done"' in drawn


def test_a_status_has_shape_word_tone_and_reason() -> None:
    drawn = draw("{% status status reason %}", status=Status(), reason="All 5 pods ready")
    assert "tone-good" in drawn
    assert "#s-running" in drawn
    assert "Running" in drawn
    assert "All 5 pods ready" in drawn


def test_no_contact_is_a_badge_beside_the_last_status() -> None:
    drawn = components.status(Status(), badge="No contact since 11:40")
    assert drawn.index("Running") < drawn.index("No contact since 11:40")
    assert "#s-no-contact" in drawn


def test_a_gang_up_to_nine_pods_is_a_dot_each_with_the_lead_in_front() -> None:
    drawn = components.gang(ready=4, total=5, lead=True, tone="warn")
    assert drawn.count("gang-pod") == 5
    assert drawn.count("gang-pod lead on") == 1
    assert drawn.count(" on") == 4
    assert '4/5<span class="sr"> pods ready</span>' in drawn


def test_a_gang_from_a_list_shows_which_pod_is_not_ready() -> None:
    drawn = components.gang([True, False, True])
    assert [" on" in dot for dot in drawn.split("<i ")[1:]] == [True, False, True]


def test_a_gang_above_nine_pods_is_a_bar_with_the_same_words() -> None:
    drawn = components.gang(ready=57, total=64)
    assert '<progress class="progress" value="57" max="64">' in drawn
    assert "gang-pod" not in drawn
    assert "57/64" in drawn


def test_a_pod_grid_names_every_pod_and_its_status() -> None:
    drawn = components.pod_grid([("worker-0", "/p", Status()), ("worker-1", "/p", Status())])
    assert drawn.count("pod-grid-cell") == 2
    assert "worker-1, Running" in drawn


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (372, "6 min 12 s"),
        (3840, "1 h 04 min"),
        (86400 + 3 * 3600, "1 d 03 h"),
        (30 * 86400, "30 d"),
        (-4, "0 s"),
    ],
)
def test_a_duration_is_written_with_its_units(seconds: float | None, words: str) -> None:
    assert formats.duration(seconds) == words


def test_a_coarse_duration_leaves_the_seconds_out() -> None:
    assert formats.duration(timedelta(minutes=6, seconds=12), coarse=True) == "6 min"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (None, "–"),
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (256_000_000, "256 MB"),
        (1_500_000, "1.5 MB"),
        (32 * 10**9, "32 GB"),
    ],
)
def test_a_size_is_written_in_decimal_units(count: int | None, words: str) -> None:
    assert formats.size(count) == words


def test_an_exact_size_has_every_digit() -> None:
    assert formats.size(32 * 10**9, exact=True).replace("\xa0", " ") == "32 000 000 000 bytes"


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=4), "4 min ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(days=2), "1 Nov, 12:00"),
        (timedelta(days=400), "29 Sep 2025"),
        (timedelta(minutes=-4), "in 4 min"),
    ],
)
def test_a_time_is_relative_within_a_day(ago: timedelta, words: str) -> None:
    assert formats.relative(NOW - ago, now=NOW) == words


def test_a_time_keeps_its_absolute_value_for_machines_and_on_hover() -> None:
    drawn = components.time_ago(NOW - timedelta(minutes=4), now=NOW)
    assert 'datetime="2026-11-03T11:56:00+00:00"' in drawn
    assert 'title="3 Nov 2026, 11:56:00 UTC"' in drawn


def test_no_time_is_a_dash() -> None:
    assert draw("{% time_ago nothing %}", nothing=None) == "–"


def test_what_the_context_does_not_hold_is_a_dash() -> None:
    assert draw("{% time_ago no %} {% bytes no %} {% duration no %}") == "– – –"


def test_the_problem_summary_counts_and_links_and_takes_the_focus() -> None:
    problems = [Problem("Name is taken.", "f-name"), Problem("Something else.")]
    drawn = draw("{% problem_summary problems %}", problems=problems)
    assert "There are 2 problems" in drawn
    assert '<a class="errors-link" href="#f-name">Name is taken.</a>' in drawn
    assert 'tabindex="-1" autofocus' in drawn
    assert "There is a problem" in draw("{% problem_summary problems %}", problems=problems[:1])


def test_no_problems_draw_no_summary() -> None:
    assert draw("{% problem_summary problems %}", problems=[]) == ""


def test_steps_tell_the_current_the_done_and_the_wrong_one() -> None:
    steps = [
        Step("Set-up", is_done=True),
        Step("Workers", "workers", is_current=True, sections=(("Compute", "#compute", "2"),)),
        Step("Master", "master", problems=2),
    ]
    drawn = draw("{% stepper steps %}", steps=steps)
    assert drawn.count('aria-current="step"') == 1
    assert 'class="done"' in drawn
    assert "2 errors" in drawn
    assert 'name="_go" value="step:workers" formnovalidate' in drawn
    assert '<a href="#compute">Compute' in drawn


def test_crumbs_link_all_but_the_last() -> None:
    drawn = draw('{% crumbs "Workloads" "/workloads" name %}', name="digits")
    assert '<a href="/workloads">Workloads</a>' in drawn
    assert '<span aria-current="page">digits</span>' in drawn


def test_a_menu_opens_without_scripts() -> None:
    drawn = draw('{% menu id="m" label="Actions for a" %}{% menu_link "/x" "Open" %}{% endmenu %}')
    assert 'popovertarget="m"' in drawn
    assert '<div class="menu-list" id="m" popover' in drawn
    assert 'aria-label="Actions for a"' in drawn


def test_a_toast_can_be_closed_without_scripts_and_errors_are_alerts() -> None:
    assert 'role="status"' in draw('{% toast "Created." %}')
    drawn = draw('{% toast "No answer." "bad" %}')
    assert 'role="alert"' in drawn
    assert '<summary class="toast-close" aria-label="Close message">' in drawn


def test_the_live_indicator_has_words_for_its_four_states() -> None:
    drawn = draw("{% live_indicator %}")
    for state in ("live", "paused", "reconnecting", "offline"):
        assert f'data-for="{state}"' in drawn
    assert 'data-state="live"' in drawn


@pytest.mark.parametrize(
    "source",
    [
        "{% icon evil evil %}",
        "{% status status evil evil %}",
        "{% chip evil evil %}",
        "{% panel title=evil text=evil label=evil id=evil %}{{ evil }}{% endpanel %}",
        "{% toolbar title=evil %}{{ evil }}{% endtoolbar %}",
        "{% note title=evil %}{{ evil }}{% endnote %}",
        "{% banner %}{{ evil }}{% endbanner %}",
        "{% empty title=evil %}{{ evil }}{% endempty %}",
        "{% tabs label=evil %}{% tab evil evil count=evil %}{% endtabs %}",
        "{% crumbs evil evil evil %}",
        "{% dialog id=evil title=evil %}{{ evil }}{% enddialog %}",
        "<button {% opens evil %}></button>",
        "{% menu id=evil label=evil text=evil %}{% menu_link evil evil %}{% endmenu %}",
        "{% menu_button evil name=evil value=evil action=evil %}",
        "{% toast evil %}",
        "{% problem_summary problems %}",
        "{% stepper steps %}",
        "{% code title=evil %}{{ evil }}{% endcode %}",
        "{% copy evil evil %}",
        "{% progress 1 2 evil %}",
        "{% pod_grid cells %}",
    ],
)
def test_what_a_person_typed_is_never_markup(source: str) -> None:
    drawn = draw(
        source,
        evil=EVIL + '" onfocus="alert(1)',
        status=Status(EVIL, EVIL, EVIL),
        problems=[Problem(EVIL, EVIL)],
        steps=[Step(EVIL, EVIL, is_current=True, sections=((EVIL, EVIL, EVIL),))],
        cells=[(EVIL, EVIL, Status(EVIL))],
    )
    assert "<script" not in drawn
    assert '" onfocus="' not in drawn
    assert "&lt;script&gt;" in drawn


def test_a_name_of_a_field_breaks_between_its_words_alone() -> None:
    drawn = Template("{% load gangline %}{{ path|breakable }}").render(
        Context({"path": "compute.gpuDevicesRequest<b>"})
    )
    assert drawn == "compute.<wbr>gpu<wbr>Devices<wbr>Request&lt;b&gt;"


def test_a_quota_bar_marks_the_quota_below_the_limit_and_paints_what_is_over_it() -> None:
    drawn = components.quota_bar(3, 2, 4, "GPUs")
    assert 'class="used" width="50.00"' in drawn
    assert 'class="over" x="50.00" width="25.00"' in drawn
    assert 'd="M50.00 0V8"' in drawn
    within = components.quota_bar(1, 2, None, "GPUs")
    assert 'class="used" width="50.00"' in within
    assert "over" not in within
    assert "mark" not in within
    assert 'class="over" x="0.00" width="100.00"' in components.quota_bar(2, 0, None, "GPUs")


def test_an_option_of_a_command_stays_whole() -> None:
    drawn = draw("{{ text|command_line }}", text=f"python a-b.py  --epochs 4000 -x {EVIL}")
    assert EVIL not in drawn
    assert '<code>python a-b.py <span class="flag">--epochs</span> 4000' in drawn
    assert drawn.count("flag") == 2
