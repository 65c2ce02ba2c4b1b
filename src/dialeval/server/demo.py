from dialeval.server.context import Context


def make_demo(context: Context) -> list[str]:
    return []
