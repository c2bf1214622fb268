"""Default classes of MJCF: attributes that elements inherit from their class."""

from __future__ import annotations

from fleet_sim.models.markup import Element

MAIN = "main"
Attributes = dict[str, str]


class Defaults:
    """The attributes of each class by tag; a class inherits those of the classes around it."""

    def __init__(self, root: Element) -> None:
        self._classes: dict[str, dict[str, Attributes]] = {MAIN: {}}
        for element in root.all("default"):
            self._read(element, {}, element.attributes.get("class", MAIN))

    def _read(self, element: Element, outer: dict[str, Attributes], name: str) -> None:
        merged = {tag: dict(attributes) for tag, attributes in (outer or self._classes[MAIN]).items()}
        for child in element.children:
            if child.tag != "default":
                merged.setdefault(child.tag, {}).update(child.attributes)
        self._classes[name] = merged
        for child in element.all("default"):
            self._read(child, merged, child.need("class"))

    def applied(self, element: Element, child_class: str) -> Element:
        """Return `element` with missing attributes filled in from its class, or from `child_class` around it.

        Raises InvalidValueError for an unknown class.
        """
        name = element.attributes.get("class") or child_class
        if name not in self._classes:
            raise element.error(f"there is no default class {name!r}; known: {', '.join(self._classes)}")
        defaults = self._classes[name].get(element.tag)
        if not defaults:
            return element
        whole = Element(element.tag, defaults | element.attributes, element.source, element.line)
        whole.children, whole.text = element.children, element.text
        return whole
