"""Users with similar tastes and products with similar buyers, from one table of who bought what, and how often."""

import random

import pyarrow as pa

import lookalike

GENRES = ["jazz", "opera", "metal", "folk", "techno", "blues"]


def main() -> tuple[list[tuple[str, str, float]], list[tuple[str, str, float]]]:
    draw = random.Random(3)
    users = [f"{GENRES[n % 6]} fan {n}" for n in range(300)]
    rows: list[tuple[str, str, int]] = []
    for user in users:
        genre = user.split()[0]
        rows += [(user, f"{genre} record {n}", draw.randint(1, 9)) for n in draw.sample(range(40), 8)]
    # Two users have a twin, who bought the same and sometimes once more; a record and its box have nearly one public.
    for user in ("jazz fan 0", "folk fan 3"):
        rows += [(f"{user}'s twin", record, n + draw.randint(0, 1)) for buyer, record, n in rows if buyer == user]
    buyers = draw.sample(users, 40)
    rows += [(user, "hits", 1) for user in buyers] + [(user, "box of hits", 1) for user in buyers[:38]]
    names, records, times = zip(*rows, strict=True)
    bought = pa.table({"user": names, "record": records, "times": times})

    by_taste = list(lookalike.pairs(lookalike.edges(bought, "user", "record", "times"), threshold=0.6))
    by_buyers = list(lookalike.pairs(lookalike.edges(bought, "record", "user"), threshold=0.8))
    for title, pairs in (("users with similar tastes", by_taste), ("products with similar buyers", by_buyers)):
        print(title)
        for a, b, similarity in pairs:
            print(f"  {similarity:.2f}  {a}, {b}")
    return by_taste, by_buyers


if __name__ == "__main__":
    main()
