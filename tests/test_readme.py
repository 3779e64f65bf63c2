"""Every command and snippet the README shows is run."""

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


def test_snippets_give_what_they_show() -> None:
    """All Python blocks run as one session, with the results that stand below them."""
    session = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    assert len(test.examples) >= 8
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(test, out=report.append)
    assert outcome.failed == 0, "".join(report)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of a console block ends 0, says something, and writes what it was asked to."""
    from mlptsym.cli import main

    program, *arguments = shlex.split(command)
    assert program == "mlptsym"
    monkeypatch.chdir(tmp_path)
    for folder in ("notebooks", "tests"):
        (tmp_path / folder).symlink_to(Path(__file__).parents[1] / folder)
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out
    if "--json" in arguments:
        assert isinstance(json.loads(printed.out), dict)
    if arguments[0] == "figures":
        folder = tmp_path / arguments[arguments.index("--out") + 1]
        assert {path.suffix for path in folder.iterdir()} >= {".svg", ".pdf", ".png", ".csv"}


def test_commands_are_found() -> None:
    """The README shows the commands for one's own queue, and the two commands that do everything."""
    assert {command.split()[1] for command in COMMANDS} >= {"response", "optimize", "simulate", "figures"}
    assert "make figures" in README
    assert "make test" in README


def test_links_lead_somewhere() -> None:
    """Pictures and folders that the README names are there."""
    root = Path(__file__).parents[1]
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (root / target).exists(), target
    for folder in re.findall(r"^\| `([a-z]+/)` \|", README, flags=re.MULTILINE):
        assert (root / folder).is_dir(), folder
