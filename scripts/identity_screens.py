"""The screens of signing in with a company's account, and of letting in a program by its code."""

import re
from urllib.parse import urlencode

import urllib3
from playwright.sync_api import expect

from scripts.camera import Camera
from tests.support.product import ADMINISTRATOR, Product

PROVIDER = {
    "name": "Example Corp",
    "alias": "company",
    "issuer": "https://login.example.com/realms/main",
    "client_id": "gangline",
    "client_secret": "not a secret of anybody",
}


def take(product: Product, camera: Camera) -> None:
    page = product.window(user=ADMINISTRATOR)
    page.goto("/identity-providers")
    camera.take(page, "identity-providers-empty")
    page.goto("/identity-providers/new")
    camera.take(page, "identity-provider-form")
    for name, text in PROVIDER.items():
        page.locator(f'[name="{name}"]').fill(text)
    page.get_by_role("button", name="Create identity provider").last.click()
    expect(page).to_have_url(re.compile("/identity-providers/company$"))
    camera.take(page, "identity-provider")
    visitor = product.window(user="")
    visitor.goto("/login")
    camera.take(visitor, "sign-in-with-company")
    visitor.goto("/login/with/company/back?state=x&code=y")
    camera.take(visitor, "sign-in-with-company-refused")
    page.goto("/account")
    camera.take(page, "account-connect")
    page.goto("/device")
    camera.take(page, "device")
    form = urlencode({"client_id": "gangline on lab-laptop"}).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    asked = urllib3.request("POST", f"{product.url}/api/v1/device", body=form, headers=kind)
    page.get_by_role("textbox", name="Code").fill(asked.json()["user_code"])
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Allow")).to_be_visible()
    camera.take(page, "device-asked")
