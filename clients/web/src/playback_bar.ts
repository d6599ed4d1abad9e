// The bar of a recording that is played: a slider to anywhere, and the speed.
import type { Shown, ToHome } from "./seam";

/** Offered; the server takes any from 0.001 to 1,000. */
const SPEEDS = [0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50];

function element<T extends HTMLElement>(id: string): T { return document.getElementById(id) as T; }

export class PlaybackBar {
  private readonly box = element<HTMLFormElement>("playback");
  private readonly slider = element<HTMLInputElement>("play-slider");
  private readonly speed = element<HTMLSelectElement>("play-speed");
  private readonly words = element<HTMLOutputElement>("play-position");
  private dragging = false;
  private newest: Shown["position"] | null = null;

  constructor(tell: (message: ToHome) => void) {
    this.box.onsubmit = (event) => event.preventDefault();
    this.slider.oninput = () => {
      this.dragging = true;
      tell({ type: "seek", position_s: Number(this.slider.value) });
    };
    this.slider.onchange = () => {
      this.dragging = false;
      tell({ type: "sought" });
    };
    this.speed.replaceChildren(...SPEEDS.map((speed) => new Option(`${speed}x`, String(speed))));
    this.speed.onchange = () => tell({ type: "speed", speed: Number(this.speed.value) });
  }

  show(told: Shown["playback"]): void {
    this.box.hidden = !told;
    document.body.classList.toggle("plays", told !== null);
    if (!told) return;
    this.slider.max = String(told.duration_s);
    this.box.title = `${told.file}, recorded by ${told.by}`;
    const speed = String(told.speed);
    if (![...this.speed.options].some((option) => option.value === speed)) this.speed.add(new Option(`${speed}x`, speed));
    this.speed.value = speed;
    element("play-end").textContent = told.end;
    if (this.newest) this.position(this.newest);  // what came before its slider was so long
  }

  position(now: Shown["position"]): void {
    this.newest = now;
    if (this.words.textContent !== now.words) this.words.textContent = now.words;
    if (!this.dragging) this.slider.value = String(now.at_s);
  }
}
