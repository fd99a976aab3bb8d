"""Nearest neighbours of an embedding: find the passage that answers a question, and the product in a photo."""

import numpy as np

import lookalike

PASSAGES = [
    "the clock maker repairs old clocks and watches in his workshop",
    "fresh bread and rolls are baked every morning before six",
    "the ferry to the island leaves the harbour twice a day",
    "the museum shows paintings and drawings of the harbour",
    "bicycles may be rented by the hour beside the station",
]
COMMON = {"the", "a", "and", "of", "in", "is", "are", "to", "by", "his", "may", "be", "when", "does", "who", "where"}


def embedded(texts: list[str]) -> np.ndarray:
    """A stand-in for a model: the sum of a random vector for each word that is not a common one."""
    return np.array([
        sum(np.random.default_rng(list(word.encode())).normal(size=64) for word in set(text.split()) - COMMON)
        for text in texts
    ])  # fmt: skip


def main() -> tuple[list[str], float, float]:
    questions = ["when does the ferry leave the harbour", "who repairs old watches", "where is bread baked"]
    answers = [PASSAGES[ids[0]] for ids in lookalike.neighbors(embedded(PASSAGES), embedded(questions), k=1)]
    for question, answer in zip(questions, answers, strict=True):
        print(f"{question}?  {answer}")

    # Visual search: 20,000 products, 200 photos of some of them, and the ten most similar products for each.
    draw = np.random.default_rng(2)
    products = draw.normal(size=(300, 128))[draw.integers(0, 300, 20_000)] + draw.normal(size=(20_000, 128))
    wanted = draw.choice(20_000, 200, replace=False)
    photos = products[wanted] + 0.5 * draw.normal(size=(200, 128))
    nearest = lookalike.neighbors(products, photos, k=10, recall=0.9)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (photos, products)]
    true = np.argsort(unit[0] @ -unit[1].T, axis=1)[:, :10]
    first = float(np.mean([ids[0] == own for ids, own in zip(nearest, wanted, strict=True)]))
    recall = float(np.mean([len({*ids} & {*row}) / 10 for ids, row in zip(nearest, true.tolist(), strict=True)]))
    print(f"{nearest.plan} of 20,000 products: {first:.1%} of 200 photos find their own product first,")
    print(f"and {recall:.1%} of the true ten nearest are found")
    return answers, first, recall


if __name__ == "__main__":
    main()
