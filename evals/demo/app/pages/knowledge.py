"""The knowledge base. What an agent writes is a draft until an admin approves it."""

from http import HTTPStatus

from evals.demo.app.web import Desk, ForbiddenError, NotFoundError, Request, Response, Route, redirect
from evals.demo.app.world import Article


def contents(desk: Desk, request: Request) -> Response:
    sections: dict[str, list[Article]] = {}
    for article in sorted(desk.world.articles.values(), key=lambda article: article.title):
        sections.setdefault(article.section, []).append(article)
    return desk.page(request, "articles.html", sections=dict(sorted(sections.items())))


def find(desk: Desk, slug: str) -> Article:
    article = desk.world.articles.get(slug)
    if article is None:
        raise NotFoundError(slug)
    return article


def show(desk: Desk, request: Request, slug: str) -> Response:
    return desk.page(request, "article.html", article=find(desk, slug))


def edit_form(desk: Desk, request: Request, slug: str) -> Response:
    article = find(desk, slug)
    return desk.page(request, "article_edit.html", article=article, text="\n\n".join(article.body))


def edit(desk: Desk, request: Request, slug: str) -> Response:
    """Keep the new text as a draft; an admin's own edit is published at once."""
    article, user = find(desk, slug), request.user
    text = request.sent("text").replace("\r\n", "\n")
    body = [part.strip() for part in text.split("\n\n") if part.strip()]
    if not request.sent("why").strip():
        return desk.page(
            request,
            "article_edit.html",
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
            error="Say in one line why the article changes.",
            article=article,
            text=request.sent("text"),
        )
    article.draft, article.draft_by = body, user.name
    desk.world.record(user, f"edited “{article.title}”: {request.sent('why').strip()}")
    if user.role == "admin":
        publish(desk, article)
    request.notify("Thank you, your change is saved.")
    return redirect(f"/kb/{slug}")


def publish(desk: Desk, article: Article) -> None:
    if article.draft is not None:
        article.body, article.draft, article.draft_by = article.draft, None, ""
        article.updated = f"{desk.world.now:%Y-%m-%d}"


def drafts(desk: Desk, request: Request) -> Response:
    if request.user.role != "admin":
        raise ForbiddenError("Drafts are read by admins.")
    waiting = [article for article in desk.world.articles.values() if article.draft is not None]
    return desk.page(request, "drafts.html", waiting=waiting)


def decide(desk: Desk, request: Request, slug: str) -> Response:
    if request.user.role != "admin":
        raise ForbiddenError("Drafts are decided by admins.")
    article = find(desk, slug)
    if request.sent("decision") == "approve":
        publish(desk, article)
        desk.world.record(request.user, f"approved the draft of “{article.title}”")
        request.notify(f"“{article.title}” is published.")
    else:
        article.draft, article.draft_by = None, ""
        desk.world.record(request.user, f"rejected the draft of “{article.title}”")
        request.notify("Draft rejected.")
    return redirect("/drafts")


ARTICLE = r"/kb/(?P<slug>[a-z0-9-]+)"
ROUTES: tuple[Route, ...] = (
    ("GET", "/kb", contents),
    ("GET", ARTICLE, show),
    ("GET", f"{ARTICLE}/edit", edit_form),
    ("POST", f"{ARTICLE}/edit", edit),
    ("GET", "/drafts", drafts),
    ("POST", r"/drafts/(?P<slug>[a-z0-9-]+)", decide),
)
