"""Storage classes and manifest of a cluster, at the addresses that the resource has not."""

from django.urls import path

from .serializers import InstallFile
from .storage_class_api import ClassesOfClusters

V2 = [path("storage-classes", ClassesOfClusters.as_view({"get": "classes_v2"}))]
K8S = [
    path("k8s/clusters/<uuid:pk>/installfile", InstallFile.as_view({"get": "retrieve"})),
    path(
        "k8s/clusters/<uuid:cluster_id>/storage-classes",
        ClassesOfClusters.as_view({"get": "names"}),
    ),
]
