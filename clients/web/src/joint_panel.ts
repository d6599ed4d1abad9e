// The panel of joints: a slider each, what it sets, what the joint does. Shows what the home says and tells what the user wants.
import { JOINT_STEPS, type JointRow, type RobotRows, type ToHome } from "./seam";

type Tell = (message: ToHome) => void;

class Row {
  readonly element = document.createElement("li");
  private readonly slider = document.createElement("input");
  private readonly choice = document.createElement("select");
  private readonly now = document.createElement("output");
  private readonly acts = document.createElement("small");
  private readonly letGo = document.createElement("button");

  constructor({ id, name, modes }: RobotRows["joints"][number], tell: Tell) {
    const { slider, choice, letGo } = this, title = document.createElement("b");
    title.textContent = title.title = name.slice(name.indexOf("/") + 1);
    slider.type = "range";
    slider.min = "0";
    slider.max = String(JOINT_STEPS);
    slider.dataset.joint = name;
    slider.setAttribute("aria-label", `target of ${name}`);
    choice.replaceChildren(...modes.map((m) => new Option(m.name, String(m.mode))));
    choice.title = "What the slider sets";
    choice.dataset.mode = name;
    letGo.textContent = "release";
    letGo.type = "button";
    letGo.hidden = true;
    this.element.append(title, this.now, slider, choice, letGo, this.acts);
    slider.oninput = () => tell({ type: "jointStep", id, step: Number(slider.value) });
    choice.onchange = () => tell({ type: "jointMode", id, mode: Number(choice.value) });
    letGo.onclick = () => tell({ type: "jointRelease", id });
  }

  show({ words, step, acts, bad, held }: JointRow): void {
    if (this.now.textContent !== words) this.now.textContent = words;
    if (step >= 0 && this.slider.value !== String(step) && document.activeElement !== this.slider) this.slider.value = String(step);
    if (this.acts.textContent !== acts) this.acts.textContent = acts;
    this.acts.className = bad ? "bad" : "";
    this.letGo.hidden = !held;
    this.element.className = held ? "held" : "";
  }
}

export class JointPanel {
  private rows: Row[] = [];

  constructor(private readonly list: HTMLElement, private readonly says: HTMLElement, private readonly tell: Tell) {}

  build(robots: RobotRows[]): void {
    this.rows = [];
    this.list.replaceChildren(...robots.flatMap((robot) => {
      const rows = robot.joints.map((joint) => new Row(joint, this.tell));
      this.rows.push(...rows);
      return [this.heading(robot.name), ...rows.map((row) => row.element)];
    }));
  }

  private heading(robot: string): HTMLElement {
    const line = document.createElement("li"), recover = document.createElement("button");
    line.className = "robot";
    line.textContent = robot;
    recover.type = "button";
    recover.textContent = "recover";
    recover.title = "Lets the joints take commands again after a latched fault; needs the lease of one of them, or of the world";
    recover.onclick = () => this.tell({ type: "recover", robot });
    line.append(recover);
    return line;
  }

  show(rows: JointRow[]): void { rows.forEach((row, i) => this.rows[i]?.show(row)); }
  say(words: string): void { this.says.textContent = words; }
}
