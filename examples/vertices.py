"""Vertices with similar neighbours: two accounts of one person know the same people, though not each other."""

import random

import pyarrow as pa

import lookalike


def main() -> list[tuple[str, str, float]]:
    draw = random.Random(5)
    people = [f"person {n}" for n in range(400)]
    friends = {tuple(sorted(draw.sample(people, 2))) for _ in range(4_000)}
    # Three people have a second account, which found nine in ten of their friends again.
    for person in draw.sample(people, 3):
        known = sorted({a if b == person else b for a, b in friends if person in (a, b)})
        friends |= {(friend, f"{person} again") for friend in draw.sample(known, round(0.9 * len(known)))}
    a, b = zip(*sorted(friends), strict=True)

    graph = lookalike.edges(pa.table({"a": a, "b": b}), "a", "b", undirected=True)
    pairs = list(lookalike.pairs(graph, threshold=0.6))
    print(f"{len(friends):,} friendships; these have similar friends:")
    for one, other, similarity in pairs:
        print(f"  {similarity:.2f}  {one}, {other}; friends of each other: {(one, other) in friends}")
    return pairs


if __name__ == "__main__":
    main()
