import type { SystemNames } from '../../names.ts';

/** Debian and Ubuntu name them alike. */
export const desktop: SystemNames['desktop'] = {
  own: [
    'xserver-xorg',
    'xinit',
    'gdm3',
    'lightdm',
    'sddm',
    'xdm',
    'lxdm',
    'gnome-shell',
    'plasma-workspace',
    'plasma-desktop',
    'xfce4-session',
    'cinnamon',
    'sway',
    'weston',
    '*-desktop',
    '*-desktop-minimal',
  ],
  driver: [
    'xserver-xorg-video-nvidia*',
    'libnvidia-gl*',
    'libnvidia-encode*',
    'libnvidia-decode*',
    'libnvidia-fbc1*',
    'libnvcuvid1',
    'lib*gl*-nvidia*',
    'nvidia-driver-libs',
    'nvidia-*-icd',
    'nvidia-vdpau-driver',
  ],
};
