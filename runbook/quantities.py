"""Numbers as records hold them, checked where a record is read: a file can say anything."""

from typing import Annotated

from pydantic import Field

Finite = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A duration."""
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
