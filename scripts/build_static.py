"""Join the style sheets, the page-wide scripts and each page's modules into one file each.

Run without arguments to write them; with --check to fail when they are not fresh.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "static"
LAYERS = "@layer tokens, reset, base, shell, parts, pages;\n"


def css() -> str:
    """Layer order, tokens, reset, base, shell, then parts and pages by name; no comments, no
    indentation.
    """
    source = STATIC / "css" / "src"
    files = [source / f"{name}.css" for name in ("tokens", "reset", "base", "shell")]
    files += sorted((source / "parts").glob("*.css"))
    files += sorted((source / "pages").glob("*.css"))
    text = LAYERS + "".join(file.read_text(encoding="utf-8") for file in files)
    text = re.sub(r"[ \t]*/\*.*?\*/\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"^[ \t]+", "", text, flags=re.MULTILINE)
    # Addresses are written as seen from css/src; the joined file sits one folder higher.
    return text.replace('url("../../', 'url("../')


def js() -> str:
    """Every module of js/shell in a block of its own; they share nothing."""
    files = sorted((STATIC / "js" / "shell").glob("*.js"))
    return "".join(f"{{\n{file.read_text(encoding='utf-8').rstrip()}\n}}\n" for file in files)


def _bundle(page: str) -> str:
    """A page's module with the two it stands on; each in a scope of its own, as modules are."""
    names = ["vendor/idiomorph.js", "js/live/connection.js", f"js/live/{page}.js"]
    if page == "page":
        names.append("js/live/timeline.js")
    return "".join(_module((STATIC / name).read_text(encoding="utf-8")) for name in names)


def _module(text: str) -> str:
    # Types in comments name files, which a joined script has not; collecting would look for them.
    text = re.sub(r'\bimport\("[^"]+"\)\.', "", text)
    text = re.sub(r"^import .*;\n", "", text, flags=re.MULTILINE)
    exported = re.findall(r"^export (?:const|class) (\w+)", text, flags=re.MULTILINE)
    exported += re.findall(r"^export \{ (\w+) \};\n", text, flags=re.MULTILINE)
    text = re.sub(r"^export \{ \w+ \};\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^export (?=const|class)", "", text, flags=re.MULTILINE).rstrip()
    if not exported:
        return f"{{\n{text}\n}}\n"
    names = ", ".join(exported)
    return f"const {{ {names} }} = (() => {{\n{text}\nreturn {{ {names} }};\n}})();\n"


def live_table() -> str:
    return _bundle("table")


def live_page() -> str:
    return _bundle("page")


def live_home() -> str:
    return _bundle("home")


TARGETS = {
    STATIC / "css" / "app.css": css,
    STATIC / "js" / "shell.js": js,
    STATIC / "js" / "live-table.js": live_table,
    STATIC / "js" / "live-page.js": live_page,
    STATIC / "js" / "live-home.js": live_home,
}


def stale() -> list[Path]:
    """The built files that differ from their sources."""
    return [
        target
        for target, build in TARGETS.items()
        if not target.exists() or target.read_text(encoding="utf-8") != build()
    ]


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        for target in stale():
            print(f"{target.relative_to(ROOT)} is not fresh: run scripts/build_static.py")
        return 1 if stale() else 0
    for target in stale():
        target.write_text(TARGETS[target](), encoding="utf-8")
        print(f"wrote {target.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
