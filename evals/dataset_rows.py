"""From the objects in a data root's files to questions and gold evidence."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from evals.dataset_files import JsonFile, Row
from evals.question import EvalQuestion, Gold, GoldSpan
from evals.scoring.eval_function import ABSTENTION_CHECKER, EvalFunctionError
from evals.scoring.evaluate import check_eval_function
from manifests.sanitise import recorded_id
from runbook.complaints import of_any
from runbook.question_image import UnusableImageError, check_question_image

_STATE_NUMBER = re.compile(r"[0-9]{1,18}")


def question_of(row: Row, root: Path) -> tuple[EvalQuestion, str | None]:
    """The question of a row, and the SHA-256 of its image; raises DatasetError."""
    image, digest = _image(row, root)
    question = EvalQuestion(
        id=_id(row),
        domain=_text(row, "domain"),
        question_type=_text(row, "question_type"),
        question=_text(row, "question"),
        image=image,
        answer=_text(row, "answer"),
        eval_function=_text(row, "eval_function"),
    )
    _check_evaluator(row, question)
    return question, digest


def _id(row: Row) -> str:
    value = row.values.get("id")
    return str(value) if type(value) is int else _text(row, "id")


def _text(row: Row, key: str) -> str:
    value = row.values.get(key)
    if value is None:
        raise row.error(f"the question has no {key}", f'add "{key}"')
    if not isinstance(value, str):
        raise row.error(f"{key} is not a string", f'write "{key}" as a JSON string')
    if not value.strip():
        raise row.error(f"{key} is empty", f'fill in "{key}"')
    return value


def _check_evaluator(row: Row, question: EvalQuestion) -> None:
    try:
        function = check_eval_function(question.eval_function)
    except EvalFunctionError as error:
        raise row.error(f"eval_function: {error}", "mend the eval_function") from error
    if function.name == ABSTENTION_CHECKER and not question.abstention_type:
        raise row.error(
            f"{ABSTENTION_CHECKER} with question_type {question.question_type!r}",
            "use it only with types that end in -abs",
        )


def _image(row: Row, root: Path) -> tuple[Path | None, str | None]:
    value = row.values.get("image")
    if value is None:
        return None, None
    relative = _text(row, "image")
    parts = PurePosixPath(relative.replace("\\", "/")).parts
    if relative.startswith(("/", "\\")) or ".." in parts or "\0" in relative:
        raise row.error(f"image {relative!r} leaves the data root", "give a path inside it, without ..")
    try:
        path = (root / relative).resolve()
        if not path.is_relative_to(root):
            raise row.error(
                f"image {relative!r} is a link out of the data root",
                "copy the file into it (cp -rL follows links)",
            )
        if not path.is_file():
            raise row.error(f"image {relative!r} is not there", "add the file, or set image to null")
        return path, _verified_digest(row, relative, path)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise row.error(f"image {relative!r} cannot be read: {of_any(error)}", "check the file") from error


def _verified_digest(row: Row, name: str, path: Path) -> str:
    try:
        check_question_image(path)
    except UnusableImageError as error:
        raise row.error(f"image {name!r} {error.problem}", "replace the file") from error
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def gold_of(listing: JsonFile, question: str, value: object) -> Gold:
    """Gold evidence in either form: `evidence` (pieces of alternative spans), or `spans` (each one a piece).

    Raises DatasetError.
    """
    try:
        return Gold(pieces=_pieces(value))
    except _ShapeError as error:
        raise listing.error(
            f"gold of question {question!r}: {error}", "mend its gold", near=question
        ) from None


class _ShapeError(Exception):
    """What is wrong with a question's gold, without the place."""


def _pieces(value: object) -> tuple[tuple[GoldSpan, ...], ...]:
    if isinstance(value, Mapping) and "evidence" in value:
        return tuple(_piece(piece) for piece in _list(value["evidence"], "evidence"))
    if isinstance(value, Mapping) and "spans" in value:
        return tuple((_span(span),) for span in _list(value["spans"], "spans"))
    raise _ShapeError('it is not an object with "evidence" or "spans"')


def _piece(value: object) -> tuple[GoldSpan, ...]:
    spans = tuple(_span(span) for span in _list(value, "a piece of evidence"))
    if not spans:
        raise _ShapeError("a piece of evidence has no span")
    return spans


def _list(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise _ShapeError(f"{name} is not a list")
    return value


def _span(value: object) -> GoldSpan:
    if not isinstance(value, Mapping):
        raise _ShapeError("a span is not an object")
    trajectory = value.get("trajectory_id")
    start, end = _index(value, "start_state_index"), _index(value, "end_state_index")
    if not isinstance(trajectory, str) or not trajectory:
        raise _ShapeError("a span has no trajectory_id")
    if start > end:
        raise _ShapeError(f"a span of {trajectory!r} ends at {end}, before its start {start}")
    return GoldSpan(trajectory_id=recorded_id(trajectory), start_state_index=start, end_state_index=end)


def _index(span: Mapping[str, object], key: str) -> int:
    value = span.get(key)
    if isinstance(value, str) and _STATE_NUMBER.fullmatch(value):
        value = int(value)
    if type(value) is not int or value < 0:
        raise _ShapeError(f"a span's {key} is not a state number from 0")
    return value
