// Verdicts in words.
import { VerdictCode } from "../generated/realtime_pb";

export function verdictWords(code: VerdictCode): string {
  return (VerdictCode[code] ?? `VERDICT_${code}`).replace("VERDICT_", "").replace("REFUSED_", "refused: ").replaceAll("_", " ").toLowerCase();
}
