// The framing of tactus.v1 over a WebSocket (proto/README.md): one frame is `payload | mac[16]`; without a mac until there is a key.
// From an npm library, because crypto.subtle is absent on pages that came over plain http from another machine.
import { hkdf } from "@noble/hashes/hkdf";
import { hmac } from "@noble/hashes/hmac";
import { sha256 } from "@noble/hashes/sha2";
import { concatBytes, randomBytes, utf8ToBytes } from "@noble/hashes/utils";

export const VERSION_MAJOR = 1;
export const VERSION_MINOR = 0;
export const MAC_BYTES = 16;
export const NONCE_BYTES = 32;
export type Direction = "C" | "S";

export { randomBytes };

/** HKDF-SHA256(token, client nonce || server nonce, "tactus.v1 session"), 32 bytes. */
export function sessionKey(token: Uint8Array, client: Uint8Array, server: Uint8Array): Uint8Array {
  return hkdf(sha256, token, concatBytes(client, server), utf8ToBytes("tactus.v1 session"), 32);
}

/** HMAC-SHA256(token, "tactus.v1 WHO" || client nonce || server nonce). */
export function proof(token: Uint8Array, who: "client" | "server", client: Uint8Array, server: Uint8Array): Uint8Array {
  return hmac(sha256, token, concatBytes(utf8ToBytes(`tactus.v1 ${who}`), client, server));
}

/** The token as the server reads it from its file: without trailing white space. */
export function tokenBytes(text: string): Uint8Array {
  return utf8ToBytes(text.replace(/[ \t\r\n\v\f]+$/, ""));
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < Math.min(a.length, b.length); ++i) difference |= a[i] ^ b[i];
  return difference === 0;
}

/** Macs of one direction: HMAC-SHA256(key, direction || u64 counter || payload), its first 16 bytes; counts the frames. */
export class Sealer {
  private readonly base;
  private counter = 0n;
  private readonly head = new Uint8Array(9);

  constructor(key: Uint8Array, direction: Direction) {
    this.base = hmac.create(sha256, key);
    this.head[0] = direction.charCodeAt(0);
  }

  private mac(payload: Uint8Array): Uint8Array {
    new DataView(this.head.buffer).setBigUint64(1, this.counter++, true);
    return this.base.clone().update(this.head).update(payload).digest().subarray(0, MAC_BYTES);
  }

  seal(payload: Uint8Array): Uint8Array {
    return concatBytes(payload, this.mac(payload));
  }

  /** The payload, or null when the mac is wrong. */
  open(frame: Uint8Array): Uint8Array | null {
    if (frame.length < MAC_BYTES) return null;
    const payload = frame.subarray(0, frame.length - MAC_BYTES);
    return equal(this.mac(payload), frame.subarray(frame.length - MAC_BYTES)) ? payload : null;
  }
}
