// How often contacts come, so that the stream stays below a budget.
const BUDGET_BYTES_PER_S = 280_000, BUDGET_HZ = 60, BODY_BYTES = 32, CONTACT_BYTES = 49, HEAD_BYTES = 190;

/** Contacts with every n-th state: the smallest n for which the stream keeps to the budget; at least 4 times a second. Fewer states have a smaller
 * budget: who asks for them has no time for many contacts either. */
export function contactsEvery(bodies: number, contacts: number, states_per_s: number): number {
  const left = BUDGET_BYTES_PER_S * Math.min(1, states_per_s / BUDGET_HZ) - states_per_s * (HEAD_BYTES + BODY_BYTES * bodies);
  const most = Math.max(1, Math.floor(states_per_s / 4));
  if (left <= 0) return most;
  return Math.min(most, Math.max(1, Math.ceil((states_per_s * contacts * CONTACT_BYTES) / left)));
}
