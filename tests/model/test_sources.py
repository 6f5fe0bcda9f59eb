"""Tests of the match from an exporter's stack frames to repository lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.engine.finding import Finding, ModelReport, Site
from trtlint.model.source import Frame, Source
from trtlint.model.sources import Sources, repository

CODE = "y = F.scaled_dot_product_attention(q, k, v)"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a module; the current folder is one of its subfolders."""
    root = tmp_path / "repository"
    write(root / ".git" / "HEAD", 0)
    write(root / "net" / "attention.py", 57)
    write(root / "train.py", 3)
    monkeypatch.chdir(root / "net")
    return root


def write(file: Path, line: int) -> None:
    """Write a file with the code at one line among other lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("pass\n" * (line - 1) + f"    {CODE}\npass\n")


def source(*frames: tuple[str, int], code: str = CODE) -> Source:
    """Return an exporter's stack trace, innermost frame first."""
    listed = tuple(Frame(path, line, "forward", code) for path, line in frames)
    return Source("shown.py", frames[0][1], "forward", frames=listed)


def found(path: str, line: int) -> Source:
    return Source(path, line, "forward", found=True)


def test_the_innermost_frame_in_the_repository(project: Path) -> None:
    noted = source(("/b/generated.py", 9), ("/b/repository/net/attention.py", 57), ("/b/train.py", 3))
    assert Sources().find(noted) == found("net/attention.py", 57)


@pytest.mark.parametrize(
    "path", ["C:\\Users\\a\\net\\attention.py", "C:/w/net/attention.py", "net/attention.py"]
)
def test_paths_of_any_system(project: Path, path: str) -> None:
    assert Sources().find(source((path, 57))) == found("net/attention.py", 57)


def test_the_longest_end_of_the_path_counts(project: Path) -> None:
    write(project / "attention.py", 57)
    assert Sources().find(source(("/elsewhere/net/attention.py", 57))) == found("net/attention.py", 57)


def test_code_that_has_moved_is_found_again(project: Path) -> None:
    write(project / "net" / "attention.py", 61)
    assert Sources().find(source(("/b/net/attention.py", 57))) == found("net/attention.py", 61)


def test_the_nearest_of_equal_lines(project: Path) -> None:
    lines = ["pass"] * 80
    lines[9] = lines[59] = lines[74] = CODE
    (project / "net" / "attention.py").write_text("\n".join(lines))
    assert Sources().find(source(("/b/net/attention.py", 57))) == found("net/attention.py", 60)


def test_code_that_is_gone_leaves_the_caller(project: Path) -> None:
    (project / "net" / "attention.py").write_text("pass\n" * 80)
    noted = source(("/b/net/attention.py", 57), ("/b/train.py", 3))
    assert Sources().find(noted) == found("train.py", 3)


def test_another_file_of_the_same_name_is_not_taken(project: Path) -> None:
    (project / "model.py").write_text("pass\n" * 80)
    noted = source(("/elsewhere/other/model.py", 5))
    assert Sources().find(noted) == Source("shown.py", 5, "forward")
    assert Sources().find(noted).frames == ()


def test_without_code_the_line_must_be_in_the_file(project: Path) -> None:
    assert Sources().find(source(("/b/train.py", 2), code="")) == found("train.py", 2)
    assert not Sources().find(source(("/b/train.py", 900), code="")).found


def test_a_source_root(project: Path) -> None:
    write(project / "python" / "lib" / "block.py", 7)
    noted = source(("/build/lib/block.py", 7))
    assert not Sources().find(noted).found
    assert Sources(source_root=project / "python").find(noted) == found("python/lib/block.py", 7)


@pytest.mark.parametrize("folder", ["missing", ".."])
def test_a_source_root_that_cannot_be(project: Path, folder: str) -> None:
    with pytest.raises(ValueError, match="source root"):
        Sources(source_root=project / folder)


def test_a_link_out_of_the_repository_is_not_followed(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside" / "secret.py", 4)
    (project / "link").symlink_to(tmp_path / "outside")
    assert not Sources().find(source(("/b/link/secret.py", 4))).found


def test_dots_do_not_lead_out(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret.py", 4)
    assert not Sources().find(source(("../secret.py", 4), ("/b/../../secret.py", 4))).found


def test_odd_paths(project: Path) -> None:
    odd = ["", "/", "a" * 5000, "net/\0.py", "net", "/" + "x/" * 500]
    assert not Sources().find(source(*((path, 1) for path in odd))).found


def test_without_a_repository_the_current_folder_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "net" / "attention.py", 57)
    monkeypatch.chdir(tmp_path)
    assert Sources().find(source(("/b/net/attention.py", 57))) == found("net/attention.py", 57)


def test_a_folder_of_homes_is_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "alice" / "net.py", 5)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "alice"))
    assert repository() is None
    assert not Sources().find(source(("/home/alice/net.py", 5))).found


def test_every_finding_of_a_report_is_located(project: Path) -> None:
    noted = source(("/b/net/attention.py", 57))
    site = Site("n", "MatMul", None, noted, (), "0" * 16)
    finding = Finding("T1", "t", "note", "high", "measured", "m", (site,), "", (), (), "f" * 16)
    bare = ModelReport("m.onnx", "TensorRT", (finding,), (finding,), suppressed=(finding,))
    report = bare.located(Sources().find)
    for located in (*report.findings, *report.conditional, *report.suppressed):
        assert [place.source for place in located.sites] == [found("net/attention.py", 57)]


def test_the_number_of_lookups_is_limited_by_model(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is found by the second lookup of the third frame."""
    noted = source(("/b/generated.py", 9), ("/b/net/attention.py", 57))
    count = len(noted.frames[0].parts) + noted.frames[1].parts.index("net") + 1
    for most in (count, count - 1):
        monkeypatch.setattr("trtlint.model.sources._MOST_LOOKS", most)
        assert Sources().find(noted).found is (most == count)
    monkeypatch.setattr("trtlint.model.sources._MOST_LOOKS", count)
    sources = Sources()
    assert sources.finder()(noted).found
    again = source(("/b/other.py", 9), ("/b/net/attention.py", 57))
    assert not sources.find(again).found
    assert not sources.find(again).found
    third = source(("/b/third.py", 9), ("/b/net/attention.py", 57))
    assert sources.finder()(third).found
    assert sources.finder()(again).found
