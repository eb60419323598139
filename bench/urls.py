"""The product's addresses and, below /bench/, the raw limits."""

from django.urls import path

from bench import bare, changing
from gangline.config import urls as product

handler400, handler403 = product.handler400, product.handler403
handler404, handler500 = product.handler404, product.handler500

urlpatterns = [
    path("bench/rows/<slug:case>", bare.rows),
    path("bench/resource/<slug:key>", bare.resource),
    path("bench/draft/<uuid:pk>", bare.draft),
    path("bench/insert", bare.insert),
    path("bench/raw", bare.raw_page),
    path("bench/changes", changing.start),
    path("bench/changes/result", changing.result),
    *product.urlpatterns,
]
