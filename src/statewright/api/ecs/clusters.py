"""Operations on clusters."""

from __future__ import annotations

from statewright.api.ecs.paging import page
from statewright.api.operations import App, Call, operation
from statewright.jobs.ecs_definitions import Cluster
from statewright.jobs.ecs_tasks import Tasks
from statewright.payload import Json


def _tasks(app: App) -> Tasks:
    return app.services.jobs.tasks


def _shown(app: App, cluster: Cluster) -> Json:
    tasks = [task for task in _tasks(app).of_cluster(cluster) if not task.is_over]
    running = sum(task.status == "RUNNING" for task in tasks)
    return {
        "clusterArn": cluster.arn,
        "clusterName": cluster.name,
        "status": cluster.status,
        "registeredContainerInstancesCount": 0,
        "runningTasksCount": running,
        "pendingTasksCount": sum(task.status in ("PROVISIONING", "PENDING") for task in tasks),
        "activeServicesCount": 0,
        "statistics": [],
        "tags": cluster.tags,
        "settings": cluster.settings,
        "capacityProviders": cluster.capacity_providers,
        "defaultCapacityProviderStrategy": cluster.strategy,
    }


@operation("ecs", "CreateCluster")
async def create_cluster(app: App, _call: Call, request: Json) -> Json:
    """Create a cluster, or return the existing one."""
    return {"cluster": _shown(app, await _tasks(app).clusters.create(request))}


@operation("ecs", "DescribeClusters")
async def describe_clusters(app: App, _call: Call, request: Json) -> Json:
    """Show clusters by name or ARN, `default` if none is named."""
    clusters, failures = [], []
    for name in request.get("clusters") or ["default"]:
        found = _tasks(app).clusters.find(name)
        if found is None:
            prefix = app.config.arn("ecs", "cluster/")
            failures.append({"arn": name if name.startswith("arn:") else prefix + name, "reason": "MISSING"})
        else:
            clusters.append(_shown(app, found))
    return {"clusters": clusters, "failures": failures}


@operation("ecs", "ListClusters")
async def list_clusters(app: App, _call: Call, request: Json) -> Json:
    """List clusters by ARN."""
    found = _tasks(app).clusters.by_name.values()
    return page("clusterArns", sorted(one.arn for one in found if one.status == "ACTIVE"), request)


@operation("ecs", "DeleteCluster")
async def delete_cluster(app: App, _call: Call, request: Json) -> Json:
    """Delete a cluster without running tasks."""
    return {"cluster": _shown(app, await _tasks(app).delete_cluster(request["cluster"]))}
