"""The files a page loads: fresh, small, without inline code, and colours only among the tokens."""

import ast
import gzip
import hashlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from gangline.lib.paths import RESOURCES

STATIC = RESOURCES / "static"
TEMPLATES = [
    path
    for end in ("html", "jinja")
    for path in sorted((RESOURCES / "templates").rglob(f"*.{end}"))
]
SOURCES = sorted((STATIC / "css" / "src").rglob("*.css"))


def _build_static() -> ModuleType:
    path = RESOURCES / "scripts" / "build_static.py"
    spec = importlib.util.spec_from_file_location("build_static", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILT = set(_build_static().TARGETS)
OWN_SCRIPTS = sorted(set((STATIC / "js").rglob("*.js")) - BUILT)
PYTHON = [
    path
    for folder in ("platform", "workloads", "assets")
    for path in sorted((RESOURCES / folder).rglob("*.py"))
]
SYMBOLS = set(re.findall(r'<symbol id="([^"]+)"', (STATIC / "icons.svg").read_text("utf-8")))
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![-\w])|\b(?:rgba?|hsla?|oklch|lab|lch|hwb)\(")


def _name(path: Path) -> str:
    return str(path.relative_to(RESOURCES))


def test_the_built_files_are_fresh() -> None:
    assert _build_static().stale() == [], "run scripts/build_static.py"


def test_the_style_sheet_stays_within_its_budget() -> None:
    assert len(gzip.compress((STATIC / "css" / "app.css").read_bytes(), 9)) <= 20_000


def test_the_sprite_stays_within_its_budget() -> None:
    assert len(gzip.compress((STATIC / "icons.svg").read_bytes(), 9)) <= 12_000


def test_the_script_of_every_page_stays_within_its_budget() -> None:
    assert len(gzip.compress((STATIC / "js" / "shell.js").read_bytes(), 9)) <= 8_000


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_colours_are_written_among_the_tokens_only(path: Path) -> None:
    if path.name == "tokens.css":
        return
    text = re.sub(r"/\*.*?\*/|url\([^)]*\)", "", path.read_text("utf-8"), flags=re.DOTALL)
    assert not COLOUR.findall(text)


def test_every_token_that_is_used_is_declared() -> None:
    text = "".join(path.read_text("utf-8") for path in SOURCES)
    used = set(re.findall(r"var\((--[\w-]+)", text))
    assert used - set(re.findall(r"(--[\w-]+):", text)) == set()


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_every_rule_is_in_a_layer(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
    depth, outside = 0, ""
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        outside += character if depth == 0 and character != "}" else ""
    heads = [head for head in re.split(r"\s*\n\s*", outside.strip()) if head]
    assert depth == 0
    assert all(head.startswith(("@layer ", "@font-face")) for head in heads), heads


@pytest.mark.parametrize("path", TEMPLATES, ids=_name)
def test_no_template_holds_inline_styles_or_scripts(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.search(r"\sstyle\s*=|<style\b|\son[a-z]+\s*=\s*[\"']|javascript:", text)
    for tag in re.findall(r"<script\b[^>]*>", text):
        assert re.search(r'src=|type="(application/json|speculationrules)"', tag)


@pytest.mark.parametrize("path", TEMPLATES, ids=_name)
def test_every_icon_of_a_template_is_in_the_sprite(path: Path) -> None:
    text = path.read_text("utf-8")
    assert set(re.findall(r'{%\s*icon "([^"]+)"', text)) - SYMBOLS == set()


def test_every_icon_of_the_code_is_in_the_sprite() -> None:
    used = {
        (name, _name(path))
        for path in PYTHON
        for name in re.findall(r'\bicon\(\s*f?"([^"{]+)"', path.read_text("utf-8"))
    }
    assert {pair for pair in used if pair[0] not in SYMBOLS} == set()


def test_every_tone_has_an_icon_of_the_sprite() -> None:
    from gangline.web.templatetags.gangline import TONE_ICONS

    assert set(TONE_ICONS.values()) <= SYMBOLS


def test_every_status_has_a_shape_of_its_own() -> None:
    from workloads.statuses import STATUSES

    shapes = [status.shape for status in STATUSES.values()]
    assert len(set(shapes)) == len(shapes)
    assert {f"s-{shape}" for shape in shapes} <= SYMBOLS
    text = (STATIC / "icons.svg").read_text("utf-8")
    drawings = {
        re.search(rf'<symbol id="s-{shape}"[^>]*>(.*?)</symbol>', text).group(1)  # type: ignore[union-attr]
        for shape in shapes
    }
    assert len(drawings) == len(shapes)


def _literals(path: Path) -> set[str]:
    """Words of the strings of a Python file that are not its documentation."""
    tree = ast.parse(path.read_text("utf-8"))
    told = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]
    return {word for text in texts for word in re.split(r"[\s\"'<>=/#{}]+", text)}


def _words_in_use() -> set[str]:
    """What may name a class or an icon: of attributes and tags of templates, of strings of code."""
    words: set[str] = set()
    for path in TEMPLATES:
        text = re.sub(r"{#.*?#}", "", path.read_text("utf-8"))
        for value in re.findall(r"class=\"((?:{%.*?%}|{{.*?}}|[^\"])*)\"", text):
            words.update(re.sub(r"{%.*?%}|{{.*?}}", " ", value).split())
        for tag in re.findall(r"{%.*?%}|{{.*?}}", text):
            words.update(w for value in re.findall(r"\"([^\"]*)\"", tag) for w in value.split())
    for path in OWN_SCRIPTS:
        for text in re.findall(r"\"([^\"\n]*)\"|`([^`]*)`", path.read_text("utf-8")):
            words.update(re.split(r"[\s\"'<>=/#.\[\]]+", " ".join(text)))
    return words.union(*(_literals(path) for path in PYTHON))


WORDS_IN_USE = _words_in_use()
# Made of a name and what is known only then: tones, colours of a log, pods in turn, columns; and
# what htmx puts on an element.
MADE = re.compile(r"htmx-request|tone-\w+|[fb]g\d+|[nw]\d|col-(?:s|m|l|free)|drop-\d")


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_every_class_of_the_style_sheets_is_used(path: Path) -> None:
    text = re.sub(
        r"/\*.*?\*/|url\([^)]*\)|\"[^\"]*\"", "", path.read_text("utf-8"), flags=re.DOTALL
    )
    selectors = re.findall(r"([^{};]+){", text)
    classes = {name for one in selectors for name in re.findall(r"\.([a-zA-Z][\w-]*)", one)}
    assert {c for c in classes if not MADE.fullmatch(c)} - WORDS_IN_USE == set()


def test_every_symbol_of_the_sprite_is_used() -> None:
    shapes = {name for name in SYMBOLS if name.startswith("s-")}
    assert SYMBOLS - shapes - WORDS_IN_USE == set()
    assert {f"s-{word}" for word in WORDS_IN_USE} | WORDS_IN_USE >= shapes


@pytest.mark.parametrize("path", OWN_SCRIPTS, ids=_name)
def test_scripts_are_short_and_evaluate_nothing(path: Path) -> None:
    text = path.read_text("utf-8")
    # What every page loads is kept smaller than what one page needs.
    assert len(text.splitlines()) <= (150 if path.parent.name == "shell" else 450)
    assert not re.search(r"\beval\(|new Function\(|document\.write", text)


def test_vendored_files_are_the_ones_written_down() -> None:
    text = (STATIC / "vendor" / "THIRD_PARTY.md").read_text("utf-8")
    hashes = re.findall(r"^([0-9a-f]{64})  (\S+)$", text, flags=re.MULTILINE)
    assert len(hashes) == 7
    for expected, name in hashes:
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == expected, name
