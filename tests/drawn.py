"""Pictures drawn from a seed, and their versions as they go around."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

__all__ = ["encoded", "scene", "versions"]


def scene(seed: int, width: int = 320, height: int = 240) -> Image.Image:
    """A background of smooth colours, shapes on it, and a little noise."""
    rng = np.random.default_rng(seed)
    patches = Image.fromarray(rng.integers(0, 256, (4, 5, 3), np.uint8))
    picture = patches.resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for _ in range(6):
        x, y = int(rng.integers(width * 3 // 4)), int(rng.integers(height * 3 // 4))
        box = (x, y, x + int(rng.integers(width // 16, width // 3)), y + int(rng.integers(height // 16, height // 3)))
        colour = tuple(int(part) for part in rng.integers(0, 256, 3))
        (draw.ellipse if rng.random() < 0.5 else draw.rectangle)(box, fill=colour)
    noise = rng.normal(0, 4, (height, width, 3))
    return Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))


def encoded(picture: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    """The bytes of a file."""
    out = io.BytesIO()
    picture.save(out, format, **options)
    return out.getvalue()


def versions(picture: Image.Image) -> dict[str, bytes]:
    """The same picture, compressed, shrunk, and cropped by a hundredth on each side."""
    width, height = picture.size
    cropped = picture.crop((width // 100, height // 100, width - width // 100, height - height // 100))
    return {
        "good.jpg": encoded(picture, "JPEG", quality=95),
        "poor.jpg": encoded(picture, "JPEG", quality=40),
        "half.jpg": encoded(picture.resize((width // 2, height // 2)), "JPEG", quality=85),
        "cropped.jpg": encoded(cropped, "JPEG", quality=85),
        "other.webp": encoded(picture, "WEBP", quality=70),
        "other.png": encoded(picture),
    }
