"""Write a large, messy CSV: the source files of the running Python and of its packages.

Every record is one file: path, size, module docstring, whole source text. Sources hold newlines, quotes, commas and
backslashes, so the CSV is full of line ends that end no record. Python's own csv module writes it (RFC 4180: a quote
inside quotes is doubled), and the number of records is counted while writing and stored beside it.
"""

from __future__ import annotations

import ast
import csv
import io
import itertools
import json
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

ENOUGH_BYTES = 64 * 1024 * 1024  # several blocks of a size that a laptop ingests in seconds
SKIPPED_TOKENS = {tokenize.ENCODING, tokenize.COMMENT, tokenize.NL, tokenize.INDENT}


def module_docstring(source: str) -> str:
    """The first expression of *source* if it is a plain string; only the head of the text is looked at."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    try:
        first = next((token for token in tokens if token.type not in SKIPPED_TOKENS), None)
        if first is None or first.type != tokenize.STRING:
            return ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are the author's business
            value = ast.literal_eval(first.string)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return ""
    return value if isinstance(value, str) else ""


def source_files() -> Iterator[tuple[str, str]]:
    """Name and text of every UTF-8 source file of the standard library and of the installed packages, sorted."""
    for kind in ("stdlib", "purelib"):
        root = Path(sysconfig.get_path(kind))
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root)
            if kind == "stdlib" and "site-packages" in inside.parts:
                continue
            try:
                text = path.read_bytes().decode("utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            yield f"{kind}/{inside.as_posix()}", text


def main(target: Path) -> None:
    """Write *target*, and the number of its records beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    records = 0
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["path", "size", "docstring", "source"])
        for walk in itertools.count():
            prefix = f"copy-{walk}/" if walk else ""
            for name, text in source_files():
                writer.writerow([prefix + name, len(text.encode()), module_docstring(text), text])
                records += 1
                if file.tell() >= ENOUGH_BYTES:
                    break
            else:
                continue
            break
    target.with_suffix(".json").write_text(json.dumps({"records": records}) + "\n")
    unfinished.replace(target)
    print(f"{target}: {target.stat().st_size:,} bytes, {records:,} records")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
