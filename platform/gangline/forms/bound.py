"""Django's own forms, drawn as every other form: one view of a field, one template."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.forms.boundfield import BoundField

from .fields import FieldView, Option, dom_id

_CONTROLS: dict[type[forms.Widget], str] = {
    forms.CheckboxInput: "check",
    forms.CheckboxSelectMultiple: "checks",
    forms.SelectMultiple: "checks",
    forms.RadioSelect: "radios",
    forms.Select: "select",
    forms.Textarea: "textarea",
}


def field_view(bound: BoundField) -> FieldView:
    """What the template of a field needs to know of a field of a Django form."""
    widget, field = bound.field.widget, bound.field
    control = next((name for kind, name in _CONTROLS.items() if isinstance(widget, kind)), "text")
    attrs = widget.attrs
    return FieldView(
        path=bound.html_name,
        label=str(bound.label),
        control=control,
        name="" if field.disabled else bound.html_name,
        text=_text(bound),
        input_type=getattr(widget, "input_type", "text"),
        options=tuple(_options(bound)) if control in ("select", "checks", "radios") else (),
        checked=control == "check" and bool(bound.value()),
        rows=int(attrs.get("rows", 4)),
        placeholder=str(attrs.get("placeholder", "")),
        autocomplete=str(attrs.get("autocomplete", "off")),
        inputmode=_inputmode(field),
        maxlength=getattr(field, "max_length", None) or 0,
        mono="mono" in str(attrs.get("class", "")),
        unit=str(attrs.get("data-unit", "")),
        help=str(bound.help_text),
        required=field.required and control not in ("check", "checks"),
        readonly=field.disabled,
        errors=tuple(str(one) for one in bound.errors),
    )


def in_words(bound: BoundField) -> str:
    """The value as a person reads it: the words of what is chosen, or the text."""
    view = field_view(bound)
    if view.control == "check":
        return "yes" if view.checked else "no"
    if view.control in ("select", "checks", "radios"):
        return ", ".join(one.word for one in view.options if one.selected)
    return view.text


def summary(form: forms.BaseForm) -> list[dict[str, str]]:
    """The errors of a form as `problem_summary` lists them: text, and the id of the field."""
    found = [{"text": str(text), "target": ""} for text in form.non_field_errors()]
    for bound in form:
        target = dom_id(bound.html_name)
        found += [{"text": f"{bound.label}: {text}", "target": target} for text in bound.errors]
    return found


def _text(bound: BoundField) -> str:
    widget = bound.field.widget
    if isinstance(widget, forms.PasswordInput) or getattr(widget, "is_secret", False):
        return ""
    value = bound.value()
    return "" if value is None else str(value)


def _options(bound: BoundField) -> Iterable[Option]:
    chosen = bound.value()
    blocked: frozenset[str] = getattr(bound.field.widget, "blocked", frozenset())
    values = {str(v) for v in (chosen if isinstance(chosen, list | tuple | set) else [chosen])}
    if chosen is None:
        values = {""}
    for value, word in getattr(bound.field, "choices", ()):
        if isinstance(word, list | tuple):
            yield from (Option(str(v), str(w), str(v) in values) for v, w in word)
        else:
            yield Option(str(value), str(word), str(value) in values, str(value) in blocked)


def _inputmode(field: Any) -> str:
    if isinstance(field, forms.IntegerField):
        return (
            "numeric" if not isinstance(field, forms.FloatField | forms.DecimalField) else "decimal"
        )
    return ""
