// Leases, as any client has them: taken when needed, renewed while in use, given back soon after.
import type { Connection } from "./connection";

const DURATION_MS = 2000, RENEW_MS = 700;

export class Lease {
  id = 0;
  private timer: ReturnType<typeof setInterval> | undefined;
  private until = 0;
  private renewed_ms = 0;

  constructor(private readonly connection: Connection, readonly channels: string[], private readonly changed: () => void) {}

  get held(): boolean { return this.id !== 0; }

  /** Takes the lease (all channels or none) and keeps it for `keepMs` after the last call. Rejects with who holds it. */
  async take(keepMs: number): Promise<void> {
    this.until = performance.now() + keepMs;
    if (this.held) return;
    const body = await this.connection.request({ case: "acquireLease", value: { channels: this.channels, durationMs: DURATION_MS } });
    if (body.case !== "lease") throw new Error("the server did not answer with a lease");
    this.id = body.value.lease;
    this.renewed_ms = performance.now();
    this.timer ??= setInterval(() => this.tend(), RENEW_MS);
    this.changed();
  }

  /** Renews when it is time. To be called with each state, too: browsers let timers wait for seconds while the mouse drags. */
  tend(): void {
    if (!this.held || performance.now() < this.renewed_ms + RENEW_MS - 50) return;
    this.renewed_ms = performance.now();
    void this.renew();
  }

  async release(): Promise<void> {
    const id = this.id;
    this.lost();
    if (id !== 0) await this.connection.request({ case: "releaseLease", value: { lease: id } }).catch(() => undefined);
  }

  /** It expired, was taken over, or went with the connection or the scene. */
  lost(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    if (this.id === 0) return;
    this.id = 0;
    this.changed();
  }

  private async renew(): Promise<void> {
    if (performance.now() > this.until) return this.release();
    try {
      await this.connection.request({ case: "renewLease", value: { lease: this.id } });
    } catch {
      this.lost();
    }
  }
}
