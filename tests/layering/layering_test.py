#!/usr/bin/env python3
"""Lower layers never include higher ones, and only base touches the operating system."""
import re
import sys
import tempfile
from pathlib import Path

# What each module may include besides itself.
MAY_INCLUDE = {
    "base": set(),
    "text": {"base"},
    "lang": {"base"},
    "bundle": {"base"},
    "graph": {"base", "bundle"},
    "cpu": {"base", "graph"},
    "engine": {"base", "text", "bundle", "graph", "cpu"},
    "grammar": {"base"},
    "convert": {"base", "text", "bundle"},
    "pack": {"base", "bundle"},
    "check": {"base", "text", "lang", "bundle", "graph", "engine"},
    "chat": {"base", "text", "lang", "grammar", "bundle", "engine"},
    "cli": {"base", "text", "lang", "grammar", "bundle", "convert", "pack", "check", "chat"},
}
PLATFORM = re.compile(
    r"(unistd|pthread|windows|fcntl|sched|dlfcn|poll|termios|pwd|dirent|cpuid|semaphore|threads)\.h$"
    r"|^(sys|linux|netinet|arpa|mach)/"
)
PLATFORM_FILES = re.compile(r"^base/(file|thread|cpuinfo)\w*\.c$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def problems(src):
    """All violations in a tree, as lines of text."""
    found = []
    for path in sorted(src.rglob("*.[ch]")):
        name = path.relative_to(src).as_posix()
        module = name.split("/")[0]
        if module not in MAY_INCLUDE:
            found.append(f"{name}: no layer is known for this folder")
            continue
        for quote, target in INCLUDE.findall(path.read_text()):
            other = target.split("/")[0]
            if quote == '"':
                if not (src / target).is_file():
                    found.append(f"{name}: \"{target}\" is not a file under src/")
                elif other != module and other not in MAY_INCLUDE[module]:
                    found.append(f"{name}: {module} must not include {target}")
            elif PLATFORM.search(target) and not PLATFORM_FILES.match(name):
                found.append(f"{name}: <{target}> belongs in src/base")
    return found


def check_the_check():
    """A tree with one violation of each kind must give exactly those."""
    files = {
        "base/file.c": "#include <unistd.h>\n",
        "base/arena.c": "#include <sys/mman.h>\n",
        "base/json.c": '#include "text/tokenizer.h"\n',
        "text/tokenizer.h": '# include "graph/graph.h"\n',
        "graph/graph.h": '#include "base/missing.h"\n#include <stdio.h>\n',
        "engine/run.c": '#include "graph/graph.h"\n#include "text/tokenizer.h"\n',
        "other/x.c": "\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        found = problems(Path(folder))
    offenders = [line.split(":")[0] for line in found]
    expected = ["base/arena.c", "base/json.c", "graph/graph.h", "other/x.c", "text/tokenizer.h"]
    if offenders != expected:
        sys.exit(f"the check itself is wrong: {found}")


if __name__ == "__main__":
    check_the_check()
    violations = problems(Path(__file__).resolve().parents[2] / "src")
    print("\n".join(violations) or "all layers in order")
    sys.exit(bool(violations))
