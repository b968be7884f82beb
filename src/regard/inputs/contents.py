"""What a file holds, by its first bytes, whatever its name says."""

from pathlib import Path

__all__ = ["why_unreadable"]

_SIGNS = (
    (0, b"\x89PNG", "a PNG picture", "picture"),
    (0, b"\xff\xd8\xff", "a JPEG picture", "picture"),
    (0, b"GIF8", "a GIF picture", "picture"),
    (8, b"WEBP", "a WebP picture", "picture"),
    (8, b"WAVE", "WAV sound", "sound"),
    (0, b"fLaC", "FLAC sound", "sound"),
    (0, b"OggS", "OGG sound", "sound"),
    (0, b"ID3", "MP3 sound", "sound"),
    (0, b"\xff\xfb", "MP3 sound", "sound"),
    (8, b"AIFF", "AIFF sound", "sound"),
    (8, b"heic", "a HEIC picture", ""),
    (8, b"heix", "a HEIC picture", ""),
    (8, b"mif1", "a HEIC picture", ""),
    (8, b"avif", "an AVIF picture", ""),
    (4, b"ftyp", "MPEG-4 (M4A or MP4)", ""),
    (0, b"\xff\xf1", "AAC sound", ""),
    (0, b"\xff\xf9", "AAC sound", ""),
    (0, b"\x1a\x45\xdf\xa3", "WebM or Matroska", ""),
    (0, b"\x30\x26\xb2\x75", "Windows Media (WMA)", ""),
    (0, b"#!AMR", "AMR sound", ""),
    (0, b"%PDF", "a PDF document", ""),
    (0, b"PK\x03\x04", "a ZIP archive", ""),
    (0, b"\x1f\x8b", "a gzip archive", ""),
    (0, b"<!doctype", "a web page (HTML)", ""),
    (0, b"<html", "a web page (HTML)", ""),
    (0, b"version https://git-lfs", "a pointer of Git LFS instead of the file itself", ""),
)
_NO_MEDIA = tuple(name for _, _, name, _ in _SIGNS[-7:])


def why_unreadable(path: str | Path, kind: str, convert: str) -> str | None:
    """Why a file can't be read as a sound or a picture, if its first bytes say that it is something else.

    Args:
        path: the file.
        kind: what it should be, "sound" or "picture".
        convert: what to convert it to.

    Returns:
        a sentence, and the next step; None if nothing else is recognised.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "a.mp3"
        ...     _ = path.write_bytes(b"\\0\\0\\0\\x18ftypM4A ")
        ...     why_unreadable(path, "sound", "WAV")
        "its name ends in .mp3, but it holds MPEG-4 (M4A or MP4), which can't be read as a sound. Convert it to WAV."
    """
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(64)
    except OSError:
        return None
    text = beginning.lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    for place, sign, name, of in _SIGNS:
        if beginning[place:].startswith(sign) or (place == 0 and sign.islower() and text.startswith(sign)):
            if of == kind:
                return None
            suffix = Path(path).suffix
            named = f"its name ends in {suffix}, but it holds" if suffix else "it holds"
            step = f"Convert it to {convert}." if name not in _NO_MEDIA else "Get it anew from its source."
            return f"{named} {name}, which can't be read as a {kind}. {step}"
    return None
