"""Namespace: under which key the reference keeps the records of an agent, a session, a run."""

from __future__ import annotations

from typing import NamedTuple


class Namespace(NamedTuple):
    """The parts of a namespace of agentflow-go. A user of memctl takes its place: a name, kept as it is."""

    scope: str = ""
    session_id: str = ""
    run_id: str = ""
    agent: str = ""
    tenant_id: str = ""

    def key_prefix(self) -> str:
        """The four parts joined by `:`, and in front of them the tenant, encoded, if there is one.

        The parts are not escaped, to the letter of the reference: two namespaces can have one prefix.
        """
        prefix = ":".join((self.scope, self.session_id, self.run_id, self.agent))
        if not self.tenant_id:
            return prefix
        from base64 import urlsafe_b64encode

        tenant = urlsafe_b64encode(self.tenant_id.encode("utf-8", "surrogatepass")).decode().rstrip("=")
        return f"tenant:{tenant}:{prefix}"

    def with_tenant(self, tenant: str) -> Namespace:
        """The namespace within a tenant; white space around the name is cut, a blank one changes nothing."""
        tenant = tenant.strip()
        return self._replace(tenant_id=tenant) if tenant else self
