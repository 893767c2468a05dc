"""The map of modules in CONTRIBUTING.md, made from their docstrings.

``python tests/module_map.py --write`` writes it anew; ``test_contributing.py`` compares.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
SOURCE = ROOT / "src" / "jointdist"
START, END = "<!-- modules -->\n", "<!-- end of modules -->\n"
ROOMS = [
    "data",
    "kernels",
    "lowrank",
    "programs",
    "distributions",
    "projection",
    "likelihood",
    "scores",
    "selection",
    "regression",
    "models",
    "plots",
    "datasets",
]
_MOST = 4  # names of a module that are listed


def sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    first = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n\n")[0]
    text = " ".join(first.split())
    for role in (":math:", ":mod:", ":func:", ":class:"):
        text = text.replace(role, "")
    return text.removesuffix(".").replace("|", "\\|")


def names(path: Path) -> list[str]:
    """Return what a module exports."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def module_map() -> str:
    """Return a table for each room."""
    lines: list[str] = []
    for room in ROOMS:
        folder = SOURCE / room
        lines += [f"### `{room}/`", "", f"{sentence(folder / '__init__.py')}.", ""]
        lines += ["| file | what it is about | names |", "|---|---|---|"]
        for path in sorted(folder.glob("*.py")):
            if path.name == "__init__.py":
                continue
            listed = [f"`{name}`" for name in names(path)]
            more = ", ..." if len(listed) > _MOST else ""
            shown = ", ".join(listed[:_MOST]) + more
            lines.append(f"| `{path.name}` | {sentence(path)} | {shown} |")
        lines.append("")
    return "\n".join(lines)


def split_page() -> tuple[str, str, str]:
    """Return the page before the map, the map, and the page after it."""
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    middle, _, after = rest.partition(END)
    return before + START, middle, END + after


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    head, _, tail = split_page()
    PAGE.write_text(head + module_map() + tail, "utf-8")
