"""Why an update was not made."""

import errno
from typing import Literal

FailureKind = Literal["batch", "model", "diverged", "memory", "disk", "collective", "internal"]


class TrainerError(Exception):
    """One failure, told apart by `kind`.

    `batch`: no rows, or rows that this policy cannot have sampled. `model`: a folder that holds no whole model. `diverged`: numbers
    that are not finite. `memory`, `disk`: the device or the disk does not hold the update. `collective`: devices lost each other.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


def classified(error: BaseException) -> TrainerError:
    """The same failure as a TrainerError: libraries tell a full disk and a full memory by many classes."""
    if isinstance(error, TrainerError):
        return error
    name = type(error).__name__
    text = f"{name}: {error}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TrainerError("disk", f"no space left: {error}")
    if "No space left on device" in text or "os error 28" in text:
        return TrainerError("disk", f"no space left: {error}")
    if isinstance(error, MemoryError) or name == "OutOfMemoryError" or "can't allocate memory" in text:
        return TrainerError("memory", f"out of memory: {error}")
    if name.startswith("Dist") and name.endswith("Error"):
        return TrainerError("collective", text)
    return TrainerError("internal", text)
