"""Which registry an image comes from, and whether a list of places allows it. Pure."""


def full_name(image: str) -> str:
    """An image with its registry: `nginx` is `docker.io/library/nginx`."""
    host, slash, _ = image.partition("/")
    if not slash:
        return f"docker.io/library/{image}"
    return image if "." in host or ":" in host or host == "localhost" else f"docker.io/{image}"


def is_allowed(image: str, places: str) -> bool:
    """Whether one of the places allows the image.

    A place is a registry, a registry and the beginning of a path, or `*`; what follows `#` is a comment.
    """
    name = full_name(image)
    return any(_is_from(name, line.partition("#")[0].strip().rstrip("/")) for line in places.split("\n"))


def _is_from(name: str, place: str) -> bool:
    if place == "*":
        return True
    if not place or not name.startswith(place):
        return False
    rest = name.removeprefix(place)
    # A colon behind a registry begins its port, one behind a path a tag.
    return not rest or rest.startswith("/") or (rest.startswith(("@", ":")) and "/" in place)
