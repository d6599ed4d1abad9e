// Why the server let this page not in: the browser tells a page nothing of a WebSocket that was refused, so it asks beside it.

type Ask = (url: string) => Promise<{ ok: boolean; text(): Promise<string> }>;

/** In the server's words; empty where it lets this origin in, is of an older version, or is not there. */
export async function whyNotLetIn(origin: string, ask: Ask): Promise<string> {
  try {
    const answer = await ask(`/door?origin=${encodeURIComponent(origin)}`);
    return answer.ok ? (await answer.text()).trim() : "";
  } catch {
    return "";
  }
}
