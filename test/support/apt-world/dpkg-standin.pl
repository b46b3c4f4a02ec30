# What dpkg does with what apt decided: `dpkg-standin.pl ROOT VERB NAME…`.
# `install` reads the output of `apt-get -s`; it ends as dpkg does where a package has a path of another one. SIGKILL ends dpkg and
# the script that runs it in the middle of the step that /run/cut names (`Inst libcuda1`).
use strict;
use warnings;
use Cwd 'realpath';

my ($place, $verb, @names) = @ARGV;
my $root = realpath($place);
my $database = "$root/var/lib/dpkg/status";

sub stanzas_of {
    my ($file) = @_;
    open(my $in, '<', $file) or return ();
    local $/ = '';
    return map { s/\n+\z/\n/r } <$in>;
}

sub field {
    my ($stanza, $name) = @_;
    return $stanza =~ /^\Q$name\E: (.*)$/m ? $1 : '';
}

sub state_of {
    my ($stanza) = @_;
    return split / (?:ok|reinstreq) /, field($stanza, 'Status');
}

my %here = map { (field($_, 'Package') => $_) } stanzas_of($database);

sub set_state {
    my ($name, $want, $state, $error) = (@_, 'ok');
    $here{$name} =~ s/^Status: .*$/Status: $want $error $state/m;
}

sub save {
    open(my $out, '>', $database) or die $!;
    print {$out} join("\n", map { $here{$_} } sort keys %here);
    close $out;
}

sub pins {
    my ($name, $there) = @_;
    return unless $name =~ /^nvidia-driver-pinning-/;
    (my $plain = $name) =~ tr/./-/;  # apt passes over names with dots
    my ($file, $list) = ("$root/etc/apt/preferences.d/$plain", "$root/var/lib/dpkg/info/$name.list");
    unlink $file, $list;
    return unless $there;
    system('cp', "$root/run/contents/$name/etc/apt/preferences.d/$plain", $file);
    open(my $out, '>', $list) or die $!;
    print {$out} "$file\n";
    close $out;
}

sub collision {
    my ($name) = @_;
    my %own = map { ($_ => 1) } split ' ', field($here{$name}, 'Contains');
    my %replaced = map { /^\s*(\S+)/ ? ($1 => 1) : () } split ',', field($here{$name}, 'Replaces');
    for my $other (sort keys %here) {
        next if $other eq $name or $replaced{$other};
        for my $path (split ' ', field($here{$other}, 'Contains')) {
            return " trying to overwrite '$path', which is also in package $other" if $own{$path};
        }
    }
    return;
}

sub unpacked {
    my ($stanza, $want) = @_;
    return $stanza =~ s/^(?:Filename|Size): .*\n//mgr =~ s/^(Package: .*\n)/$1Status: $want ok unpacked\n/r;
}

# dpkg notes no more of a new package before it is unpacked.
sub begun {
    my ($stanza) = @_;
    return join '', unpacked($stanza, 'install') =~ /^(?:Package|Status|Architecture|Version): .*\n/mg;
}

sub unpack_package {
    my ($name, $stanza) = @_;
    my $before = $here{$name};
    my ($want) = defined $before ? state_of($before) : 'install';
    $here{$name} = unpacked($stanza, $want);
    my $trouble = collision($name);
    pins($name, 1) unless defined $trouble;
    return unless defined $trouble;
    if (defined $before) { $here{$name} = $before } else { delete $here{$name} }
    save();
    print STDERR "dpkg: error processing archive $name (--unpack):\n$trouble\n";
    print STDERR "E: Sub-process /usr/bin/dpkg returned an error code (1)\n";
    exit 100;
}

sub needs_unpacking {
    my ($name) = @_;
    for my $other (map { /^\s*([^ :]+)/ ? $1 : () } split ',', field($here{$name}, 'Depends')) {
        next unless field($here{$other} // '', 'Status') =~ / reinstreq /;
        save();
        print STDERR "dpkg: dependency problems prevent configuration of $name:\n $name depends on $other\n";
        print STDERR "E: Sub-process /usr/bin/dpkg returned an error code (1)\n";
        exit 100;
    }
}

sub cut_in {
    my ($name, $state, $error) = @_;
    set_state($name, (state_of($here{$name}))[0], $state, $error);
    save();
    unlink "$root/run/cut";
    kill 'KILL', -getpgrp;
    sleep 60;
}

if ($verb eq 'install') {
    my $cut = '';
    if (open(my $in, '<', "$root/run/cut")) { $cut = <$in> }
    my %offered;
    for my $list (glob "'$root'/var/lib/apt/lists/*_Packages") {
        $offered{field($_, 'Package') . ' ' . field($_, 'Version')} = $_ for stanzas_of($list);
    }
    while (<STDIN>) {
        if (/^(?:Remv|Purg) ([^ :]+)/) {
            delete $here{$1};
            pins($1, 0);
        } elsif (/^Inst ([^ :]+)\S* (?:\[\S+\] )?\((\S+) /) {
            my ($name, $new) = ($1, $offered{"$1 $2"} // die "$1 $2 is in no list\n");
            if ($cut eq "Inst $name") {
                $here{$name} //= begun($new);
                cut_in($name, 'half-installed', 'reinstreq');
            }
            unpack_package($name, $new);
        } elsif (/^Conf ([^ :]+)/ and $here{$1}) {
            cut_in($1, 'half-configured', 'ok') if $cut eq "Conf $1";
            needs_unpacking($1);
            set_state($1, (state_of($here{$1}))[0], 'installed');
        }
    }
} elsif ($verb eq 'hold' or $verb eq 'unhold') {
    my $want = $verb eq 'hold' ? 'hold' : 'install';
    for my $name (@names) {
        $here{$name} =~ s/^Status: \S+/Status: $want/m if $here{$name};
    }
}
save();
