/** The panels, in tab order. A panel's module is loaded when it is first opened. */

import { allows } from "@sdk/capabilities.js";
import type { Panel } from "../panel.js";

/** Kinds that make a participant an operator. */
const OPERATOR_KINDS = ["capability.grant", "capability.revoke", "space.kick", "space.invite"] as const;

export const panels: readonly Panel[] = [
  {
    id: "proposals",
    title: "Proposals",
    icon: "decide",
    element: "meup-proposals",
    load: () => import("./proposals.js"),
    badge: (s) => s.pending.length,
    badgeLabel: (n) => `${n} awaiting approval`,
  },
  { id: "participants", title: "Participants", icon: "people", element: "meup-participants", load: () => import("./participants.js") },
  { id: "tools", title: "Tools", icon: "tools", element: "meup-tools", load: () => import("./tools.js") },
  { id: "contexts", title: "Contexts", icon: "list", element: "meup-contexts", load: () => import("./contexts.js") },
  { id: "search", title: "Search", icon: "search", element: "meup-search", load: () => import("./search.js") },
  { id: "policy", title: "Policy", icon: "scale", element: "meup-policy", load: () => import("./policy.js") },
  { id: "timeline", title: "Timeline", icon: "time", element: "meup-timeline", load: () => import("./timeline.js") },
  {
    id: "operator",
    title: "Operator",
    icon: "gauge",
    element: "meup-operator",
    load: () => import("./operator.js"),
    offered: (s) => s.you !== null && OPERATOR_KINDS.some((kind) => allows(s.you?.capabilities ?? [], kind)),
  },
  { id: "trace", title: "Trace", icon: "trace", element: "meup-trace", load: () => import("./trace.js"), hidden: true },
  { id: "envelope", title: "Envelope", icon: "raw", element: "meup-envelope", load: () => import("./envelope.js"), hidden: true },
];
