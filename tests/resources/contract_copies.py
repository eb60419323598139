"""The contract of resources that are made from others: by the form, and from the YAML of a page."""

from typing import Any

from gangline.lib import yaml_text
from tests.support.forms import Page

from .contract import Context, check, errors_of, stored_now


@check(lambda r, s: "" if r.can_copy else "it is not copied")
def a_copy_is_alike(c: Context) -> None:
    """Its form holds what the object does; what is secret or chosen once more is typed anew."""
    assert c.sample.form
    made, client = c.sample.make(c.world, "first"), c.page("administrator")
    url = c.resource.url(made, "copy")
    assert f'href="{url}"' in client.get(c.resource.url(made)).content.decode()
    posted: dict[str, Any] = {}
    for field, text in Page(client.get(url).content.decode()).fields(aria_label=c.resource.label):
        posted.setdefault(field, []).append(text)
    assert posted[c.sample.name_field] == ["first-copy"]
    typed = c.sample.form(c.world, "first-copy")
    anew = {field: text for field, text in typed.items() if field in c.sample.copied_anew}
    assert not [field for field in anew if any(posted.get(field, ()))]
    answer = client.post(url, {**posted, **anew})
    assert answer.status_code == 302, errors_of(answer)
    copied = c.resource.model._default_manager.exclude(pk=made.pk).order_by("created_at").last()
    told = [c.resource.snapshot(stored_now(one)) for one in (made, copied)]
    differs = {name for name in told[0] if not _holds(told[1][name], told[0][name])}
    assert differs - c.resource.secret == {c.sample.name_field, *c.sample.differs_in_copy}, told


@check(lambda r, s: "" if r.shows_yaml else "its page has no YAML")
def yaml_makes_one_alike(c: Context) -> None:
    """The YAML of its page is a body that the API takes."""
    made, client = c.sample.make(c.world, "first"), c.page("administrator")
    page = Page(client.get(f"{c.resource.url(made)}/yaml").content.decode())
    body = yaml_text.read(page.one(aria_label="YAML").raw).data
    body.get("meta", body)["name"] = "second"
    answer = c.api("administrator", "POST", "", body)
    assert answer.status_code < 300, answer.content
    again = c.resource.model._default_manager.get(name="second")
    told = [c.resource.snapshot(stored_now(one)) for one in (made, again)]
    told[1] |= {name: told[0][name] for name in (c.sample.name_field, *c.sample.differs_as_yaml)}
    assert told[0] == told[1]


def _holds(whole: Any, part: Any) -> bool:
    """Whether ``whole`` says what ``part`` does, and perhaps what else is so unless said."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(name in whole and _holds(whole[name], part[name]) for name in part)
    if isinstance(whole, list) and isinstance(part, list):
        return len(whole) == len(part) and all(map(_holds, whole, part))
    return bool(whole == part)
