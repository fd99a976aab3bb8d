"""Similar pictures: smaller, brighter and more compressed versions of one, by their pixels and by a hash of 64 bits."""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import lookalike


def drawn(seed: int) -> Image.Image:
    """A picture of soft colours."""
    patches = np.random.default_rng(seed).integers(0, 256, (5, 5, 3), np.uint8)
    return Image.fromarray(patches).resize((240, 180), Image.Resampling.BICUBIC)


def main() -> tuple[list[list[str]], list[list[str]]]:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(30):
            drawn(number).save(Path(folder, f"{number}.png"))
        for number in (4, 9):
            drawn(number).resize((120, 90)).save(Path(folder, f"{number}-small.jpg"), quality=60)
            drawn(number).point(lambda value: value * 0.7 + 60).save(Path(folder, f"{number}-bright.webp"), quality=40)
        by_pixels = lookalike.clusters(lookalike.images(folder), threshold=0.95)
        by_hash = lookalike.clusters(lookalike.images(folder, features="phash"), threshold=0.85)
        found = [[[Path(path).name for path in sorted(group)] for group in groups] for groups in (by_pixels, by_hash)]

    for name, groups in zip(("cosine of pixels >= 0.95", "equal bits of 64 >= 0.85"), found, strict=True):
        print(f"{name}: " + "; ".join(", ".join(group) for group in groups))
    return found[0], found[1]


if __name__ == "__main__":
    main()
