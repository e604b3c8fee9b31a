"""The files of the search index: one part for each trajectory, and one layout for each view.

All numbers are little-endian. Keys have 48 bits; lists of keys are ascending, and the first 32 bits of each
stand apart from the last 16, which a search hardly ever needs. A part, `<store>/index/<slug>`, under the same
name a link in each view:

    head            a line with format, rule and slug, then the Counts as numbers of 32 bits
    term keys       first 32 bits
    term starts     one more than terms: where the entry of each begins, and after the last
    term entries    last 16 bits of the key, then postings, ascending: `state * 8 + field` (FIELDS)
    line keys       first 32 bits
    line places     the state that shows the line, or the number of states plus that of a range
    line keys       last 16 bits
    ranges          text, one a line: "0-29" or "3,5-7"
    levels          a byte for each field and state: its number of terms (see index_parts)
    checksum        crc32 of all before

Starts, entries and places have 16 bits where that is enough for every one there could be, else 32. The
layout, `LAYOUT` beside the links:

    head            a line with format and rule
    sizes           text: trajectories, states, common terms
    trajectories    text, one a line in order of slug: slug, action convention
    counts          of each part in the same order: five numbers of 32 bits
    levels          as in a part, for the states of all trajectories, field by field
    common          terms with many postings: keys of 64 bits, ascending, then counts of 32 bits
    checksum        crc32 of all before

A part begins with a NUL, so that programs that search text files leave it alone.
"""

import struct
from typing import Final, Literal, NamedTuple

# The types of numbers are numpy's by name: whoever only asks where an index is does not wait for numpy.
NumberType = Literal["<u4", "<u2"]
FORMAT: Final = 3  # the helper refuses another
FIELDS = ("goal", "url", "title", "action", "thought", "observation")
POSTINGS_PER_STATE: Final = 8
LEVELS_PER_DOUBLING: Final = 8  # of a length n there is kept round(8 * log2(1 + n)), at most 255
INDEX_FOLDER = ".index"  # of a view; hidden, so that nobody searches it for text
LAYOUT = "layout"  # no slug has this name
CHECKSUM: Final = 4  # bytes
COUNTS_SIZE: Final = struct.calcsize("<5I")
NUMBERS: Final = "<u4"
SMALL_NUMBERS: Final = "<u2"
_KEY_BYTES: Final = 6
_BYTES: Final[dict[NumberType, int]] = {NUMBERS: 4, SMALL_NUMBERS: 2}


class Counts(NamedTuple):
    """What a part holds."""

    states: int
    terms: int
    postings: int
    lines: int
    ranges: int
    """Bytes."""

    def start_type(self) -> NumberType:
        """The type of the starts."""
        return _type_up_to(self.postings + self.terms)

    def entry_type(self) -> NumberType:
        """The type of the entries."""
        return _type_up_to(self.states * POSTINGS_PER_STATE)

    def place_type(self) -> NumberType:
        """The type of the places; there are fewer ranges than bytes of them."""
        return _type_up_to(self.states + self.ranges)

    def lines_at(self, head: int) -> int:
        """Where in a part whose head takes so many bytes the keys of lines begin."""
        starts = _BYTES[self.start_type()] * (self.terms + 1)
        entries = _BYTES[self.entry_type()] * (self.terms + self.postings)
        return head + _BYTES[NUMBERS] * self.terms + starts + entries

    def part_bytes(self, head: int) -> int:
        """The size of such a part."""
        of_lines = (_KEY_BYTES + _BYTES[self.place_type()]) * self.lines + self.ranges
        return self.lines_at(head) + of_lines + len(FIELDS) * self.states + CHECKSUM


def part_head(rule: str, slug: str, counts: Counts) -> bytes:
    """What the part of a trajectory begins with, made by this rule of terms."""
    return part_title(rule, slug) + struct.pack("<5I", *counts)


def part_title(rule: str, slug: str) -> bytes:
    """The first line of it."""
    return f"\0runbook-part {FORMAT} {rule} {slug}\n".encode()


def part_counts(content: bytes, start: int) -> Counts:
    """What the head says after the title, which ends at `start`. Raises struct.error where it is cut off."""
    return Counts(*struct.unpack_from("<5I", content, start))


def layout_head(rule: str) -> bytes:
    """What a layout of this rule of terms begins with."""
    return b"runbook-index %d %s\n" % (FORMAT, rule.encode())


def _type_up_to(most: int) -> NumberType:
    return SMALL_NUMBERS if most < 1 << 16 else NUMBERS
