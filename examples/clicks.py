"""Users with similar clicks: a click farm works through one list, and its users point the same way."""

import random

import pyarrow as pa

import lookalike


def main() -> list[list[str]]:
    draw = random.Random(11)
    pages = [f"/page/{n}" for n in range(500)]
    log = []
    for number in range(300):
        # Popular pages are clicked by everyone: the chance of page n falls with the root of n.
        some = draw.choices(pages, weights=[(n + 1) ** -0.5 for n in range(500)], k=draw.randint(20, 60))
        log += [(f"user {number}", page) for page in some]
    for farm in ("red", "blue"):
        orders = draw.sample(pages, 30)
        for number in range(6):
            # Each user of a farm clicks its pages two or three times, in another order, and skips a few.
            some = [page for page in orders if draw.random() < 0.95 for _ in range(draw.randint(2, 3))]
            log += [(f"{farm} bot {number}", page) for page in draw.sample(some, len(some))]
    draw.shuffle(log)
    users, clicked = zip(*log, strict=True)

    # How often a user clicked a page is the component of that page, and the cosine does not ask who clicked more.
    table = pa.table({"user": users, "page": clicked, "clicks": [1] * len(log)})
    found = lookalike.clusters(lookalike.edges(table, "user", "page", "clicks"), measure="cosine", threshold=0.8)
    print(f"{len(log):,} clicks of {len(set(users))} users; these click alike:")
    for cluster in found:
        print("  " + ", ".join(sorted(cluster)))
    return list(found)


if __name__ == "__main__":
    main()
