// What a test or a curious user wants to know at one glance.
import type { App } from "./app";

export function summaryOf(app: App) {
  const { measured, connection, current, playback, joints } = app;
  const work = measured.work_ms.slice(0, measured.frames).sort();
  return { phase: connection.phase, name: connection.name, epoch: current?.description.sceneEpoch ?? 0, scene: current?.description.name ?? "",
    bodies: current?.names ?? [], model: app.statistics?.model ?? "", paused: app.isPaused(), tick: Number(app.newest?.tick ?? 0n),
    factor: app.newest?.realTimeFactor ?? 0, contacts: app.contacts.count, states: measured.states, stateBytes: measured.stateBytes,
    frames: measured.frames, pictures: measured.pictures, workMsMedian: work[Math.floor(work.length / 2)] ?? 0, workMsP95: work[Math.floor(work.length * 0.95)] ?? 0,
    firstPictureMs: measured.firstPicture_ms, verdict: measured.verdict, pushing: app.push.body >= 0, sent: app.push.sent,
    holdsWorld: app.world.held, playing: playback.playing, position_s: playback.position_s, batches: current?.batches.length ?? 0,
    devices: app.devices.drawn, joints: joints.held, jointsSent: joints.sent, jointVerdict: joints.verdict, bytes: connection.bytesIn, software: app.stage.software };
}

export type Summary = ReturnType<typeof summaryOf>;
