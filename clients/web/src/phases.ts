// Names and colours that the picture and the page share.
export const PHASES = [
  { name: "no phase", colour: "#9aa3b2" },
  { name: "impacting", colour: "#f97316" },
  { name: "resting", colour: "#16b878" },
];
export const FORCE_COLOUR = "#e5194b", NORMAL_COLOUR = "#38a8f8";
/** Of a plot's lines. */
export const COLOURS = ["#3b82f6", "#f97316", "#10b981", "#a855f7", "#ef4444", "#64748b"];
