// Which plots there are, and their lines.
export interface PlotSpec { key: string; title: string; unit: string; lines: string[] }

export const PLOTS: PlotSpec[] = [
  { key: "beat", title: "Beat", unit: "us", lines: ["wake late", "work"] },
  { key: "penetration", title: "Deepest overlap", unit: "mm", lines: [""] },
  { key: "energy", title: "Kinetic energy", unit: "J", lines: [""] },
  { key: "contacts", title: "Contacts", unit: "", lines: ["points", "dropped"] },
  { key: "joints", title: "Joint torques", unit: "N m", lines: ["1", "2", "3", "4", "5", "6"] },
  { key: "device", title: "Haptic device", unit: "N", lines: ["hand", "tool"] },
  { key: "ledger", title: "Its energy", unit: "mJ", lines: ["given out", "in the spring"] },
  { key: "device-link", title: "Its link", unit: "ms", lines: ["round trip", "age"] },
  { key: "quality", title: "Cycles of who commands", unit: "%", lines: ["good", "lost on the way"] },
  { key: "trip", title: "Round trip of this page", unit: "ms", lines: [""] },
  { key: "states", title: "States of this page", unit: "1/s", lines: [""] },
];
