import type { SystemNames } from '../names.ts';

/** What shows something on a screen on Red Hat's systems, and what of NVIDIA's driver it draws with. */
export const desktop: SystemNames['desktop'] = {
  own: [
    'gdm',
    'sddm',
    'lightdm',
    'gnome-shell',
    'plasma-workspace',
    'xorg-x11-server-Xorg',
    'xorg-x11-drv-nvidia*',
  ],
  driver: ['nvidia-driver', 'nvidia-driver-libs', 'nvidia-settings', 'nvidia-xconfig', 'xorg-x11-nvidia'],
};
