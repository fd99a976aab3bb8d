"""Mirror pages and a spam farm, among pages that share a navigation bar and are otherwise unrelated."""

import random

import lookalike

WORDS = """amber anchor barley basin bridge canal candle castle cedar chapel cliff clock cloud copper crane ferry field
garden glass granite harbour hazel island kettle ladder lantern marble meadow mill museum orchard parish pebble pier
quarry river rope saddle sail school stone street summer thunder timber tower valley village wagon willow winter"""
TOWNS = ["Ashford", "Bewley", "Corby", "Dunmore", "Elston", "Farley", "Granby", "Hexley"]
ADVERT = "Cheap locks in {town}! " + " ".join(random.Random("advert").choices(WORDS.split(), k=120)) + ". Call {town}."


def article(number: int) -> str:
    """150 words that no other article has in this order."""
    return " ".join(random.Random(number).choices(WORDS.split(), k=150)).capitalize() + "."


def page(site: str, text: str) -> str:
    """A text under the navigation bar of its site, which is longer than the text."""
    links = [" ".join(random.Random(f"{site} {n}").choices(WORDS.split(), k=4)) for n in range(80)]
    menu = "".join(f'<li><a href="/{n}">{link}</a></li>' for n, link in enumerate(links))
    return f"<html><body><nav><ul>{menu}</ul></nav><article><p>{text}</p></article></body></html>"


def main() -> tuple[set[tuple[str, str]], list[list[str]]]:
    pages = {f"news.example/{n}": page("news", article(n)) for n in range(10)}
    pages |= {f"mirror.example/{n}": page("mirror", article(n)) for n in range(3)}
    pages |= {f"locks-{town.lower()}.example": page(town, ADVERT.format(town=town)) for town in TOWNS}

    whole = lookalike.pairs(pages, threshold=0.6)
    print(f"whole pages: {len(whole)} pairs, such as {' and '.join(next(iter(whole))[:2])}: one bar, other articles")
    groups = list(lookalike.clusters(pages, threshold=0.6, html=True))
    print(f"main texts: {len(groups)} clusters")
    for group in groups:
        print("  " + ", ".join(group))
    return {(a, b) for a, b, _ in whole}, groups


if __name__ == "__main__":
    main()
